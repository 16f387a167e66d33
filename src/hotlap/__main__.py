"""``python -m hotlap``: the same as ``hotlap``."""

from hotlap.cli import main

main()
