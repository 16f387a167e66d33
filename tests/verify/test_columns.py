from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hotlap.bench import Target
from hotlap.runtime import default_session
from hotlap.verify.answers import normal
from hotlap.verify.columns import known_columns
from hotlap.verify.span import spans
from hotlap.verify.tallies import Tallies
from tests import tiny
from tests.verify.classifiers import unzipped, zipped

FEED = {"x": np.array([[0.2, 0.8], [0.9, 0.1]], np.float32)}


def compared(before: Any, after: Any, folder: Path) -> Tallies:
    files = [tiny.save(model, folder / f"{n}.onnx") for n, model in enumerate((before, after))]
    one, two = (normal(default_session(file).run(FEED)) for file in files)
    known = known_columns(*map(Target.default, files), one, two)
    tallies = Tallies(spans([one], {}), columns=known)
    tallies.add(0, one, two)
    return tallies


def agrees(before: Any, after: Any, folder: Path) -> bool:
    found = compared(before, after, folder)
    assert not found.reshaped and not found.guessed
    return found.tallies["scores"].largest == 0


@pytest.mark.parametrize("labels", [(0, 1), (1, 0), (9, 10), ("no", "yes"), ("yes", "no")])
@pytest.mark.parametrize("kept", [True, False])
def test_columns_are_told_by_the_labels_of_either_file(
    labels: tuple[int | str, ...], kept: bool, tmp_path: Path
) -> None:
    maps, own = zipped(*labels), labels if kept else ()
    same, turned = unzipped(labels=own), unzipped(1, 0, labels=own)
    assert agrees(maps, same, tmp_path) and agrees(same, maps, tmp_path)
    assert not agrees(maps, turned, tmp_path) and not agrees(turned, maps, tmp_path)


def test_a_tensors_own_labels_go_before_those_of_the_maps(tmp_path: Path) -> None:
    turned = unzipped(1, 0, labels=("no", "yes"))
    assert agrees(zipped("yes", "no"), turned, tmp_path) and agrees(turned, zipped("yes", "no"), tmp_path)


def test_labels_of_other_classes_tell_nothing(tmp_path: Path) -> None:
    maps = [{0: 0.25, 1: 0.75}]
    tallies = Tallies(spans([{"s": maps}], {}), columns={"s": [("a", "b")]})
    tallies.add(0, {"s": maps}, {"s": np.array([[0.25, 0.75]], np.float32)})
    assert tallies.guessed == {"s"} and tallies.tallies["s"].largest == 0


def test_files_that_tell_nothing(tmp_path: Path) -> None:
    one, two = {"s": [{0: 1.0}]}, {"s": np.ones((1, 1), np.float32)}
    plain = Target.default(tiny.save(tiny.mlp(), tmp_path / "plain.onnx"))
    for target in (Target.calling("a:b"), plain, Target.default(tmp_path / "missing.onnx")):
        assert known_columns(target, target, one, two) == {"s": []}
        assert known_columns(target, target, two, two) == {}
