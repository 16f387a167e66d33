"""The inspecting process with a stage that ends it: for tests of what the parent makes of that.

``HOTLAP_TEST_DYING`` names the stage and how: "probe:abort", "load:hang", "executed:exit".
"""

from __future__ import annotations

import os
import time
from typing import Any

from hotlap.inspect import child


def main() -> None:
    stage, how = os.environ["HOTLAP_TEST_DYING"].split(":")

    def end(work: Any) -> Any:
        if how == "hang":
            time.sleep(60)
        os.abort() if how == "abort" else os._exit(7)

    setattr(child._Work, stage, end)
    child.main()


if __name__ == "__main__":
    main()
