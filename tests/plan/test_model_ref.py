from __future__ import annotations

import pytest

from hotlap.errors import PlanError
from hotlap.plan import External, ModelRef

DIGEST = "sha256:" + "a" * 64


def test_a_model_may_lie_anywhere_and_its_weights_beside_it() -> None:
    weights = {"w.bin": External(size=0, digest=DIGEST), "deep/w.bin": External(size=1, digest=DIGEST)}
    for path in ("model.onnx", "../model.onnx", "/models/model.onnx", "C:\\models\\model.onnx"):
        assert ModelRef(path=path, digest=DIGEST, external=weights).path == path


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../w",
        "a/../../w",
        "/etc/passwd",
        "C:w",
        "C:\\w",
        "\\\\host\\share\\w",
        "a\\..\\w",
        "\\w",
    ],
)
def test_weights_outside_of_the_models_folder_are_refused(name: str) -> None:
    with pytest.raises(PlanError, match=r"^model\.external\."):
        ModelRef(path="m", digest=DIGEST, external={name: External(size=1, digest=DIGEST)})


@pytest.mark.parametrize("digest", ["", "a" * 64, "sha256:" + "A" * 64, "sha256:" + "a" * 63, DIGEST + "\n"])
def test_a_digest_that_is_none_is_refused(digest: str) -> None:
    with pytest.raises(PlanError, match=r'model\.digest: expected "sha256:" and 64 hexadecimal digits'):
        ModelRef(path="m", digest=digest)
    with pytest.raises(PlanError, match=r"model\.external\.w\.digest"):
        ModelRef(path="m", digest=DIGEST, external={"w": External(size=1, digest=digest)})


def test_an_empty_path_and_a_negative_size_are_refused() -> None:
    with pytest.raises(PlanError, match=r"model\.path: is empty"):
        ModelRef(path=" ", digest=DIGEST)
    with pytest.raises(PlanError, match=r"model\.external\.w\.size: expected a whole number of 0 or more"):
        ModelRef(path="m", digest=DIGEST, external={"w": External(size=-1, digest=DIGEST)})
