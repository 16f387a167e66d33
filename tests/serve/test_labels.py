from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from hotlap.passes import remove_zipmap
from hotlap.serve.labels import LABELS, labels_of
from hotlap.serve.loading import load
from hotlap.serve.serving import Server
from tests import tiny
from tests.serve.http.wired import Client, post


def saved(path: Path, **labels: str) -> Path:
    model = tiny.add()
    for output, value in labels.items():
        model.metadata_props.add(key=f"hotlap.labels.{output}", value=value)
    model.metadata_props.add(key="author", value="me")
    return tiny.save(model, path / "m.onnx")


def test_the_pass_writes_what_is_read() -> None:
    assert remove_zipmap.LABELS == LABELS


def test_labels_are_in_the_metadata(tmp_path: Path) -> None:
    assert labels_of(saved(tmp_path, y='["kitten", "ü"]', z="[3, 5]")) == {
        "y": ("kitten", "ü"),
        "z": ("3", "5"),
    }


@pytest.mark.parametrize("value", ["", "{}", "[[]]", "[1.5]", '"a"'])
def test_what_is_no_list_of_names_is_none(
    tmp_path: Path, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "hotlap.serve"):
        assert labels_of(saved(tmp_path, y=value)) == {}
    assert "is no list of names" in caplog.text


def test_clients_are_told_them(tmp_path: Path) -> None:
    models = load([saved(tmp_path, y='["a", "b"]')], instead={"lanes": 1, "max_batch": 1})
    x: dict[str, Any] = {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [0.5, 4, 2, 3]}
    wanted = {"name": "y", "parameters": {"classification": 4}}
    with Server(models) as server, Client(server) as client:
        answer = client.ask(post(json.dumps({"inputs": [x], "outputs": [wanted]}).encode()))
        assert answer.status == 200, answer.body
        told = answer.json["outputs"][0]["data"]
    assert [text.partition(":")[2] for text in told] == ["1:b", "3", "2", "0:a"]
