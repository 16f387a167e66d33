"""Sound that resembles speech, at 16 kHz: a buzzing voice through moving formants, hisses, and pauses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
RATE = 16_000
CONTEXT, WINDOW = 64, 512
"""Silero's window: 512 new samples after the last 64 of the window before."""

# The first three formants of five vowels, in Hz (Peterson and Barney 1952, the means for men).
VOWELS = {
    "a": (730, 1090, 2440),
    "e": (530, 1840, 2480),
    "i": (270, 2290, 3010),
    "o": (570, 840, 2410),
    "u": (300, 870, 2240),
}
BANDWIDTHS = (80.0, 100.0, 140.0)


def voice(seconds: float, seed: int = 0) -> Floats:
    """Speech-like mono sound in -1 … 1: syllables, some with a hiss before, and pauses between words."""
    rng = np.random.default_rng(seed)
    wanted = int(seconds * RATE)
    pieces: list[npt.NDArray[np.float64]] = []
    while sum(map(len, pieces)) < wanted:
        pieces += [_syllable(rng) for _ in range(rng.integers(2, 6))]
        pieces.append(rng.normal(0, 1e-3, int(rng.uniform(0.15, 0.6) * RATE)))
    sound = np.concatenate(pieces)[:wanted]
    room = rng.normal(0, 2e-3, wanted)
    return (0.5 * sound / np.abs(sound).max() + room).astype(np.float32)


def windows(sound: Floats) -> Iterator[Floats]:
    """The sound cut as silero wants it: float32 [1, 576], each with the last 64 samples of the one before."""
    before = np.zeros(CONTEXT, np.float32)
    for start in range(0, len(sound) - WINDOW + 1, WINDOW):
        new = sound[start : start + WINDOW]
        yield np.concatenate([before, new])[None]
        before = new[-CONTEXT:]


def feeds(
    run: Callable[[Mapping[str, Any]], Mapping[str, Any]], count: int, seed: int = 0
) -> list[dict[str, Any]]:
    """`count` feeds of one sound for silero, its state carried from each window to the next.

    Args:
        run: the model itself, feed to outputs: the state of a window is what the window before left.
        count: number of windows, 32 ms each.
        seed: decides the sound.
    """
    state = np.zeros((2, 1, 128), np.float32)
    made: list[dict[str, Any]] = []
    for window in windows(voice(count * WINDOW / RATE, seed)):
        feed = {"input": window, "state": state, "sr": np.array(RATE, np.int64)}
        made.append(feed)
        state = np.asarray(run(feed)["stateN"])
    return made


def _syllable(rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """A hiss now and then, then a vowel that glides into another."""
    length = int(rng.uniform(0.12, 0.28) * RATE)
    start, end = rng.choice(list(VOWELS), 2)
    time = np.arange(length) / RATE
    pitch = rng.uniform(95, 180) * (1 + 0.08 * np.sin(2 * np.pi * 3 * time))
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    glide = np.linspace(0, 1, length)
    vowel = np.zeros(length)
    for harmonic in range(1, 28):
        frequency = harmonic * pitch
        gain = np.zeros(length)
        for first, last, width in zip(VOWELS[start], VOWELS[end], BANDWIDTHS, strict=True):
            centre = first + (last - first) * glide
            gain += 1 / (1 + ((frequency - centre) / width) ** 2)
        vowel += gain / harmonic**0.5 * np.sin(harmonic * phase)
    vowel *= np.sin(np.pi * glide) ** 0.5
    if rng.random() < 0.4:
        hiss = np.diff(rng.normal(0, 0.12, int(rng.uniform(0.05, 0.11) * RATE) + 1))
        return np.concatenate([hiss * np.hanning(len(hiss)), vowel])
    return vowel
