from __future__ import annotations

import pytest

from hotlap.plan import ModelRef, Plan
from hotlap.tune.candidates import cpu_default, make_candidates, thread_counts

MODEL = ModelRef(path="m.onnx", digest="sha256:" + "0" * 64)


@pytest.mark.parametrize(
    ("usable", "counts"),
    [
        (1, [1]),
        (2, [1, 2]),
        (3, [1, 2, 3]),
        (4, [1, 2, 3, 4]),
        (6, [1, 2, 4, 6]),
        (64, [1, 2, 4, 8, 16, 32, 64]),
    ],
)
def test_thread_counts(usable: int, counts: list[int]) -> None:
    assert thread_counts(usable) == counts


def test_on_the_cpu_threads_and_spinning_are_crossed_but_one_thread_has_nothing_to_spin() -> None:
    labels = [c.label for c in make_candidates(MODEL, 2, ["cpu"])]
    assert labels == [
        "cpu, 1 thread",
        "cpu, 2 threads, spin on",
        "cpu, 2 threads, spin 100us",
        "cpu, 2 threads, spin off",
    ]


def test_labels_are_unique_and_the_fallback_is_one_of_them() -> None:
    for usable in (1, 2, 8, 24):
        labels = [c.label for c in make_candidates(MODEL, usable, ["cpu", "openvino", "cuda", "tensorrt"])]
        assert len(set(labels)) == len(labels)
        assert cpu_default(MODEL, usable).label in labels


def test_openvino_is_tried_in_f32_and_in_each_reduced_precision_as_candidates_of_their_own_gate() -> None:
    found = make_candidates(MODEL, 1, ["openvino"], reduced=("bf16",))
    assert [(c.label, c.arithmetic, c.gate) for c in found] == [
        ("openvino f32, 1 thread", "f32", "openvino f32"),
        ("openvino bf16, 1 thread", "bf16", "openvino bf16"),
    ]
    assert found[1].plan.provider == {"openvino": {"precision": "bf16"}}


def test_no_reduced_precision_where_the_machine_has_none() -> None:
    assert [c.arithmetic for c in make_candidates(MODEL, 2, ["openvino"], reduced=())] == ["f32", "f32"]


def test_an_accelerator_keeps_the_cpu_for_the_nodes_that_it_does_not_take() -> None:
    found = {c.label: c.plan.providers for c in make_candidates(MODEL, 2, ["cuda", "tensorrt", "coreml"])}
    assert found == {
        "cuda": ("cuda", "cpu"),
        "tensorrt": ("tensorrt", "cuda", "cpu"),
        "coreml": ("coreml", "cpu"),
    }


def test_every_candidate_is_a_plan_that_can_be_saved_and_read_back() -> None:
    for candidate in make_candidates(MODEL, 4, ["cpu", "openvino", "cuda", "tensorrt"]):
        assert Plan.loads(candidate.plan.dumps()) == candidate.plan
