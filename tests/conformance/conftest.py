"""A hotlap server with the models of `asks`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from onnx import TensorProto as T

from hotlap.serve.loading import load
from hotlap.serve.serving import Server
from tests import tiny

_TYPES = {
    "BOOL": T.BOOL, "UINT8": T.UINT8, "UINT16": T.UINT16, "UINT32": T.UINT32, "UINT64": T.UINT64,
    "INT8": T.INT8, "INT16": T.INT16, "INT32": T.INT32, "INT64": T.INT64, "FP16": T.FLOAT16,
    "FP32": T.FLOAT, "FP64": T.DOUBLE, "BYTES": T.STRING,
}  # fmt: skip


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("models")
    models = {"mlp": tiny.mlp(), "two": tiny.two_outputs()}
    models |= {f"identity_{name}": tiny.identity(kind) for name, kind in _TYPES.items()}
    paths: list[Path] = [tiny.save(model, folder / f"{name}.onnx") for name, model in models.items()]
    with Server(load(paths)) as server:
        yield server
