from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.model.graph import load_graph
from hotlap.model.weights import WeightStats, weight_stats
from tests import tiny


def stats(model: Any, folder: Path = Path()) -> dict[str, WeightStats]:
    return {w.name: w for w in weight_stats(model, folder)}


def test_every_weight_in_numbers() -> None:
    table = np.array([[1e-40, -3.0], [np.inf, 2.0]], np.float32)
    found = stats(tiny.gather_mask(table=table))
    assert found["table"] == WeightStats(
        name="table",
        value="table",
        scope="",
        dtype="float32",
        shape=(2, 2),
        nbytes=16,
        inf=1,
        denormal=1,
        low=-3.0,
        high=2.0,
        smallest=float(np.float32(1e-40)),
        digest=found["table"].digest,
    )
    assert (found["ax"].dtype, found["ax"].low, found["ax"].high) == ("int64", 2.0, 2.0)
    assert found["ax"].smallest is None


def test_equal_tensors_have_equal_digests_wherever_and_however_they_are_stored(tmp_path: Path) -> None:
    path = tiny.mlp_external(tmp_path)
    inside, outside = stats(tiny.mlp()), stats(load_graph(path), tmp_path)
    assert [w.external for w in outside.values()] == [True] * 4
    assert {n: w.digest for n, w in inside.items()} == {n: w.digest for n, w in outside.items()}
    assert len({w.digest for w in inside.values()}) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)),
        (np.zeros(2, np.float32), np.zeros(2, np.int32)),
        (np.zeros(2, np.float32), -np.zeros(2, np.float32)),
    ],
)
def test_shape_type_and_every_bit_count(one: Any, other: Any) -> None:
    model = tiny.add()
    model.graph.initializer.extend([numpy_helper.from_array(one, "a"), numpy_helper.from_array(other, "b")])
    assert len({w.digest for w in stats(model).values()}) == 2


def test_what_cannot_be_read_has_no_digest(tmp_path: Path) -> None:
    found = stats(tiny.external_at("w.bin"), tmp_path)["w"]
    assert (found.digest, found.nbytes, found.external, found.low) == ("", 16, True, None)


def test_small_floats_have_a_digest_only() -> None:
    model = tiny.add()
    model.graph.initializer.append(helper.make_tensor("w", T.FLOAT8E4M3FN, [2], [1.0, 2.0]))
    model.graph.initializer.append(T(name="odd", data_type=99, dims=[1], raw_data=b"12"))
    found = stats(model)
    assert (found["w"].dtype, found["w"].nbytes, found["w"].low) == ("float8_e4m3fn", 2, None)
    assert (found["odd"].dtype, found["odd"].nbytes) == ("unknown", 2)
    assert found["w"].digest.startswith("sha256:")


SIZE = 2 * 2**30

BIG = """
import resource, sys
from pathlib import Path
from hotlap.model import Model, anatomy, weight_stats
model = Model.load(sys.argv[1])
taken = anatomy(model)
(weight,) = weight_stats(model.proto, model.path.parent, model.walk)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
status = Path("/proc/self/status")  # on Linux the other number begins with the parent's
if status.exists():
    peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:")).split()[1]
print(taken.size, weight.nbytes, weight.low, weight.high, weight.digest[:7], peak)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no module resource")
def test_two_gigabytes_are_read_in_little_memory(tmp_path: Path) -> None:
    model = tiny.external_at("w.bin")
    weight = model.graph.initializer[0]
    weight.dims[:] = [SIZE // 4]
    weight.external_data[2].value = str(SIZE)
    path = tiny.save(model, tmp_path / "m.onnx")
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(SIZE)
    done = subprocess.run(
        [sys.executable, "-c", BIG, str(path)], capture_output=True, text=True, check=True, timeout=300
    )
    size, nbytes, low, high, digest, peak = done.stdout.split()
    assert int(size) == SIZE + path.stat().st_size and int(nbytes) == SIZE
    assert (low, high, digest) == ("0.0", "0.0", "sha256:")
    assert int(peak) < 500 * 1024
