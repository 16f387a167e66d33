"""From a model's numbers to an answer that a person can read."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]

CAPTCHA = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
"""The captcha reader's classes; the last one is the blank."""


def characters(metadata: str) -> list[str]:
    """PaddleOCR's classes from the text its recognisers carry: a blank first, a space last."""
    return ["", *metadata.splitlines(), " "]


def greedy(scores: Array, classes: Sequence[str], blank: int = 0) -> str:
    """Greedy CTC: the best class of each step, repeats joined, blanks dropped.

    Args:
        scores: [steps, classes], of one line.
        classes: one string per class.
        blank: the class that means "nothing new here".
    """
    best = np.argmax(scores, axis=-1)
    return "".join(classes[k] for k, _ in itertools.groupby(int(b) for b in best) if k != blank)


def captcha(logits: Array) -> str:
    """The captcha reader's answer from its logits [20, 1, 37]; its class 0 is never meant."""
    return greedy(logits[:, 0, 1:], CAPTCHA[1:], blank=len(CAPTCHA) - 2)


def sentence_vector(tokens: Array, mask: Array) -> Array:
    """The mean of a sentence's token vectors [batch, length, width] where its mask is 1: [batch, width]."""
    weights = mask[..., None].astype(tokens.dtype)
    mean: Array = (tokens * weights).sum(axis=1) / weights.sum(axis=1)
    return mean


def cosines(vectors: Array) -> Array:
    """The cosine of each vector [n, width] with each: [n, n]."""
    unit = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit @ unit.T


def most_similar(vectors: Array) -> tuple[int, int, float]:
    """The two different rows of `vectors` [n, width] that are most alike, and their cosine."""
    table = np.triu(cosines(vectors), k=1) - np.tri(len(vectors)) * 2
    first, second = np.unravel_index(int(np.argmax(table)), table.shape)
    return int(first), int(second), float(table[first, second])
