from __future__ import annotations

import subprocess
import sys


def test_the_first_line_runs_before_anything_heavy_is_imported() -> None:
    script = (
        "import hotlap.bench.start as s, sys; "
        "print(s.BEGAN > 0, 'numpy' in sys.modules, 'msgspec' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "False"]
