from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hotlap.bench import Target, Workload, measure
from hotlap.bench.calling import open_callable
from hotlap.errors import InputError, TargetFailed, UsageError
from hotlap.tensors import TensorSpec
from tests import tiny

FEED = {"x": np.ones((2, 3), np.float32)}
SOURCE = """
    import numpy as np

    def plain(feed):
        return feed["x"].sum()

    def factory():
        return plain

    class Net:
        def __init__(self, scale=2):
            self.scale = scale

        def __call__(self, feed):
            return self.scale * feed["x"].sum()

    net = Net(3)

    class Holder:
        inner = staticmethod(plain)

    class Runs:
        inputs = ("a signature",)

        def run(self, feed):
            return "ran"

    def endless():
        return 7

    number = 5
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The folder of a module of its own name, which leaves nothing behind."""
    name = f"measured_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(SOURCE))
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield name
    sys.modules.pop(name, None)


def called(module: str, tmp_path: Path, name: str) -> Any:
    return open_callable(f"{module}:{name}", str(tmp_path)).run(FEED)


@pytest.mark.parametrize(
    ("name", "answer"),
    [("plain", 6), ("factory", 6), ("Net", 12), ("net", 18), ("Holder.inner", 6), ("Runs", "ran")],
)
def test_functions_factories_classes_and_objects(module: str, tmp_path: Path, name: str, answer: Any) -> None:
    assert called(module, tmp_path, name) == answer


def test_a_signature_is_used_where_there_is_one(module: str, tmp_path: Path) -> None:
    assert open_callable(f"{module}:Runs", str(tmp_path)).inputs == ("a signature",)
    assert open_callable(f"{module}:plain", str(tmp_path)).inputs is None


@pytest.mark.parametrize(
    ("name", "told"),
    [("none", "has no none"), ("number", "is no callable but int"), ("endless", "gave no callable but int")],
)
def test_what_cannot_be_called_is_told(module: str, tmp_path: Path, name: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        called(module, tmp_path, name)


def test_a_module_that_is_not_there_is_told_and_one_that_it_needs_is_its_own_error(
    module: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="no module no_such_module"):
        open_callable("no_such_module:f", str(tmp_path))
    (tmp_path / f"{module}.py").write_text("import no_such_module\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        open_callable(f"{module}:f", str(tmp_path))


TORCH = """
    import contextlib, types

    class Module:
        def __init__(self):
            self.mode = "train"
        def eval(self):
            self.mode = "eval"
        def __call__(self, *args, **kwargs):
            assert self.mode == "eval" and entered
            return self.forward(*args, **kwargs)

    entered = []
    nn = types.SimpleNamespace(Module=Module)
    inference_mode = lambda: contextlib.nullcontext(entered.append(1))
    from_numpy = lambda array: ("tensor", array)
"""


def test_a_torch_module_gets_tensors_in_inference_mode(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a stand-in for torch, which is not among what the tests need."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    (tmp_path / "torch.py").write_text(textwrap.dedent(TORCH))
    net = """
        import torch

        class Net(torch.nn.Module):
            def forward(self, x, y=None):
                return x, y

        class Other(torch.nn.Module):
            def forward(self, pixels):
                return pixels
    """
    (tmp_path / f"{module}.py").write_text(textwrap.dedent(net))
    try:
        by_name = open_callable(f"{module}:Net", str(tmp_path)).run
        assert by_name({"y": 1, "x": 2}) == (("tensor", 2), ("tensor", 1))
        assert called(module, tmp_path, "Other") == ("tensor", FEED["x"])
    finally:
        sys.modules.pop("torch", None)


def test_a_callable_is_measured_in_a_process_of_its_own(module: str, tmp_path: Path) -> None:
    target = Target.calling(f"{module}:Net", folder=tmp_path, label="net")
    found = measure(target, Workload(iterations=20, warmup=0, processes=2), [FEED])
    assert found.calls == 40 and found.digest is None and not found.generated
    assert module not in sys.modules


def test_a_callable_without_a_signature_needs_data_or_shapes(module: str, tmp_path: Path) -> None:
    from hotlap.bench import parse_mix

    target = Target.calling(f"{module}:plain", folder=tmp_path)
    with pytest.raises(TargetFailed, match="give it data, or shapes"):
        measure(target, Workload(iterations=5, warmup=0, processes=1))
    shaped = Workload(iterations=70, warmup=0, processes=1, shapes=(parse_mix("x={1,2}x3"),))
    assert set(measure(target, shaped).processes[0].first_by_shape) == {"x 1x3", "x 2x3"}


def test_what_a_callable_raises_is_its_last_word(module: str, tmp_path: Path) -> None:
    with pytest.raises(TargetFailed, match=r"KeyError: 'x'"):
        measure(
            Target.calling(f"{module}:plain", folder=tmp_path),
            Workload(iterations=5, warmup=0, processes=1),
            [{"y": np.ones(3)}],
        )


def test_a_runner_that_a_factory_opens_has_its_inputs_made(module: str, tmp_path: Path) -> None:
    model = tiny.save(tiny.add(), tmp_path / "m.onnx")
    (tmp_path / f"{module}.py").write_text(
        f"import hotlap\ndef runner():\n    return hotlap.open({str(model)!r})\n"
    )
    found = measure(
        Target.calling(f"{module}:runner", folder=tmp_path), Workload(iterations=9, warmup=0, processes=1)
    )
    assert found.generated and found.calls == 9


def test_the_specs_of_a_signature_are_what_feeds_are_made_from() -> None:
    from hotlap.bench.calling import Called
    from hotlap.bench.making import made_feeds

    def run(feed: Any) -> None:
        if feed["x"].shape[1] != 32:
            raise InputError("no")

    spec = TensorSpec.declared("x", "tensor(float)", ["batch", "length"])
    (feed,) = made_feeds(Called(run, [spec]), Workload(), {})
    assert feed["x"].shape == (1, 32)
