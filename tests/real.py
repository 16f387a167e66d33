"""The real models for tests: `real("ocr-rec")` gives one, or skips the test with the reason.

On a build machine (environment variable CI) a missing model fails the test instead: there nothing may be
skipped in silence.
"""

from __future__ import annotations

import os

import pytest

from examples.inputs.models import TWELVE, RealModel, folder, named
from examples.inputs.pictures import FONT_FILES, fonts

__all__ = ["NAMES", "TWELVE", "RealModel", "needs_fonts", "real"]

NAMES = tuple(model.name for model in TWELVE)


def needs_fonts() -> None:
    """Goes on where all fonts of the pictures are there: what a model reads hangs on them."""
    if len(fonts(24)) > len(FONT_FILES):
        return
    missing = "the pictures want the fonts that ci/system-packages names"
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


def real(name: str) -> RealModel:
    """The model of that name, if its file is there."""
    model = named(name)
    if not model.path.is_file():
        missing = f"{model.name}: no {model.file} below {folder()}; `make test` lays it there"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return model
