"""hotlap's own version, for a server to tell: `VERSION`."""

from __future__ import annotations

import sys

__all__ = ["VERSION"]

# Not imported: the front page of the package names the tools, and no server may need them. It is loaded.
VERSION: str = sys.modules["hotlap"].__version__
