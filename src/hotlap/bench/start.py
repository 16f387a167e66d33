"""The first lines of a measuring process: ``python -m hotlap.bench.start REQUEST``.

They note when Python was ready to run us, before anything else is imported.
"""

from __future__ import annotations

from time import time

BEGAN = time()


def main() -> None:
    from hotlap.bench import child

    child.main(BEGAN)


if __name__ == "__main__":
    main()
