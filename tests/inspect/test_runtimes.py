from __future__ import annotations

from itertools import pairwise

import onnx
import onnxruntime
import pytest

from hotlap.errors import PlanError, UsageError
from hotlap.inspect.runtimes import CPUS, RELEASES, judged_runtime
from hotlap.machine.cpuinfo import INSTRUCTION_SETS
from tests import tiny


def loads(ir: int, opset: int) -> bool:
    built = tiny.model(
        [tiny.node("Relu", ["x"], ["y"])],
        [tiny.info("x", onnx.TensorProto.FLOAT, [1])],
        [tiny.info("y", onnx.TensorProto.FLOAT, [1])],
        opset=opset,
    )
    built.ir_version = ir
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(built.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001  each version refuses with an exception of its own
        return False
    return True


def test_the_installed_release_reads_what_the_table_says() -> None:
    major, minor = onnxruntime.__version__.split(".")[:2]
    if (int(major), int(minor)) not in RELEASES:
        pytest.skip(f"the table ends before {onnxruntime.__version__}")
    reads = RELEASES[int(major), int(minor)]
    assert loads(reads.ir, reads.opset)
    assert not loads(reads.ir + 1, reads.opset)
    assert not loads(reads.ir, reads.opset + 1)


def test_later_releases_never_read_less() -> None:
    rows = [RELEASES[release] for release in sorted(RELEASES)]
    for before, after in pairwise(rows):
        assert all(a <= b for a, b in zip(before, after, strict=True))


def test_the_installed_one_is_judged_for_unless_another_is_named() -> None:
    runtime = judged_runtime()
    assert (runtime.ort, runtime.named, runtime.cpu_named) == (onnxruntime.__version__, False, False)
    named = judged_runtime("1.20", "AVX2", ["CUDAExecutionProvider", "cpu", "cuda"])
    assert (named.ort, named.named, named.max_ir, named.max_opset, named.max_ml_opset) == (
        "1.20",
        True,
        10,
        21,
        5,
    )
    assert (named.features, named.cpu_named) == (frozenset({"AVX2", "F16C"}), True)
    assert named.providers == ("cuda", "cpu")
    assert judged_runtime("1.20.1").max_opset == 21


@pytest.mark.parametrize("version", ["0.9", "1.99", "newest", "", "1.20-x", "v1.20"])
def test_a_release_that_is_not_known_is_refused(version: str) -> None:
    with pytest.raises(UsageError, match=r"known of 1\.10 to"):
        judged_runtime(version)


def test_a_processor_or_provider_that_is_not_known_is_refused() -> None:
    with pytest.raises(UsageError, match='did you mean "avx512"'):
        judged_runtime(target_cpu="avx-512")
    with pytest.raises(PlanError, match="cudda"):
        judged_runtime(providers=["cudda"])
    with pytest.raises(UsageError, match="no provider"):
        judged_runtime(providers=[])


def test_kinds_of_processor_are_told_in_the_machines_words() -> None:
    assert all(sets <= set(INSTRUCTION_SETS) for sets in CPUS.values())
    assert CPUS["avx2"] < CPUS["avx512"] < CPUS["vnni"] < CPUS["amx"]
