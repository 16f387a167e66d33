from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hotlap.bench import Target
from hotlap.errors import TargetFailed, UsageError
from hotlap.verify import Reference, examine, verify
from hotlap.verify.source import FeedSource
from hotlap.verify.verifying import likeness
from tests import tiny


def inputs(count: int) -> list[dict[str, Any]]:
    return [{"x": np.full((1, 16), n, np.float32)} for n in range(count)]


@pytest.fixture
def mlp(tmp_path: Path) -> Path:
    return tiny.save(tiny.mlp(), tmp_path / "mlp.onnx")


def test_a_callable_is_judged_like_a_model(mlp: Path, tmp_path: Path) -> None:
    (tmp_path / "my_net.py").write_text(
        "import onnxruntime\n"
        f"session = onnxruntime.InferenceSession({str(mlp)!r})\n"
        "def predict(feed):\n    return session.run(None, feed)[0]\n"
        "def wrong(feed):\n    return {'y': predict(feed) * 1.01}\n"
        "def feeds():\n    import numpy as np\n"
        "    while True:\n        yield {'x': np.random.default_rng(0).random((2, 16), 'float32')}\n"
    )
    mine = Target.calling("my_net:predict", folder=tmp_path)
    model = Target.default(mlp)
    assert verify(model, mine).passed
    assert verify(mine, model).passed  # the inputs fit the model: a callable has no signature
    source = FeedSource(function="my_net:feeds", folder=str(tmp_path), most=3)
    verdict = verify(model, Target.calling("my_net:wrong", folder=tmp_path), source)
    assert not verdict.passed and (verdict.inputs, verdict.rows) == (3, 6)
    with pytest.raises(TargetFailed, match="no signature to make inputs from"):
        verify(mine, mine)


def test_what_cannot_be_asked_is_refused(mlp: Path) -> None:
    target = Target.default(mlp)
    with pytest.raises(UsageError, match=r'no level "exakt" .did you mean "exact"'):
        verify(target, target, level="exakt")
    with pytest.raises(UsageError, match="no inputs"):
        verify(target, target, data=[])
    with pytest.raises(UsageError, match='no output "z"'):
        verify(target, target, inputs(1), scores={"z": -1})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"level": "task"}, '"task" is about a metric of yours'),
        ({"level": "task", "metric": len}, "how much may the metric drop"),
        ({"max_drop": 0.1}, "how much a metric may drop: give a"),
        ({"labels": [1]}, "labels are for a metric"),
        ({"metric": len, "max_drop": 0.1}, '"exact" would not ask it'),
    ],
)
@pytest.mark.parametrize("ask", [verify, examine])
def test_half_of_a_metric_is_refused_before_anything_runs(ask: Any, given: dict[str, Any], told: str) -> None:
    missing = Target.default("no such model.onnx")
    with pytest.raises(UsageError, match=told):
        ask(missing, missing, inputs(1), **given)


@pytest.mark.parametrize("half", [{"metric": len}, {"max_drop": 0.1}, {"labels": [1]}])
def test_a_reference_takes_no_half_of_a_metric_either(half: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="metric"):
        Reference(Target.default("no such model.onnx"), inputs(1), **half)


def test_a_callable_is_told_what_only_the_candidate_knows(mlp: Path) -> None:
    model, mine = Target.default(mlp), Target.calling("my_net:predict")
    assert likeness(mine, model) == {"maker": model, "names": ["y"]}
    assert likeness(model, mine) == likeness(mine, mine) == {}
