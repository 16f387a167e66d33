"""The real models for tests: `real("ocr-rec")` gives one, or skips the test with the reason.

On a build machine (environment variable CI) a missing model fails the test instead: there nothing may be
skipped in silence.
"""

from __future__ import annotations

import os

import pytest

from examples.inputs.models import TWELVE, RealModel, folder, named

__all__ = ["NAMES", "TWELVE", "RealModel", "real"]

NAMES = tuple(model.name for model in TWELVE)


def real(name: str) -> RealModel:
    """The model of that name, if its file is there."""
    model = named(name)
    if not model.path.is_file():
        missing = f"{model.name}: no {model.file} below {folder()}; `make test` lays it there"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return model
