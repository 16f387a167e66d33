"""English sentences in pairs that mean nearly the same, and the tokens of the real tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

PAIRS = (
    ("A man is playing a guitar on the street.", "Someone plays the guitar outside on the pavement."),
    ("The train was late because of the snow.", "Snow delayed the train."),
    ("She bought fresh bread at the corner shop.", "At the shop on the corner she got a fresh loaf."),
    ("How do I reset my password?", "What is the way to change a forgotten password?"),
    ("The cat sleeps on the warm windowsill.", "A cat is dozing on the sill where the sun is warm."),
    ("Our meeting moved to Thursday at ten.", "The meeting is now on Thursday, ten o'clock."),
    ("He forgot his umbrella and got soaked.", "Without his umbrella he became completely wet."),
    ("The museum is closed on Mondays.", "On Mondays you cannot visit the museum."),
    ("Please send me the invoice by email.", "Could you mail me the bill?"),
    ("The children built a castle of sand.", "A sandcastle was made by the kids."),
    ("Prices of fuel rose again this week.", "This week petrol became more expensive once more."),
    ("The doctor told him to rest for a few days.", "He was advised by his physician to take it easy."),
    ("I would like a table for two near the window.", "May we have a window table for two people?"),
    ("The bridge is closed for repairs until spring.", "Nobody can cross the bridge before spring."),
    ("My laptop does not start any more.", "The notebook computer refuses to boot."),
    ("They planted apple trees behind the house.", "Behind their home they put in some apple trees."),
    ("The film was long but never boring.", "Although it lasted long, the movie kept us awake."),
    ("A red car stopped in front of the bank.", "Before the bank a red automobile came to a halt."),
    ("Water boils at a lower temperature on a mountain.", "High up, water needs less heat to boil."),
    ("The team won the final by one goal.", "With a single goal more they took the cup."),
    ("Where can I find the nearest pharmacy?", "Is there a chemist close to here?"),
    ("The package arrived two days early.", "We got the parcel two days before it was due."),
    ("She teaches mathematics at a small school.", "At a little school she is the maths teacher."),
    ("The old clock in the hall has stopped.", "In the hallway the antique clock no longer runs."),
    ("Dogs are not allowed in this park.", "You may not bring your dog into the park."),
    ("The bakery opens at six in the morning.", "From six o'clock you can buy bread there."),
    ("He learned to swim when he was forty.", "At the age of forty he took up swimming."),
    ("The river flooded the lower part of the town.", "Low streets of the town went under water."),
    ("I prefer tea to coffee in the evening.", "In the evening I would rather drink tea."),
    ("The new version fixes a security problem.", "A vulnerability is closed by the latest release."),
    ("Two birds are building a nest in our chimney.", "A pair of birds nests in the chimney of our house."),
    ("Her handwriting is hard to read.", "One can hardly decipher what she writes by hand."),
    ("The company hired fifty engineers last year.", "Last year fifty engineers joined the firm."),
    ("Turn left after the church.", "Behind the church you go to the left."),
    ("The soup needs a little more salt.", "I think the broth is not salty enough."),
    ("Nobody answered when I called the office.", "I rang the office, but there was no reply."),
    ("The stars are bright because there is no moon.", "On this moonless night the stars shine clearly."),
    ("You can pay by card or in cash.", "Both cards and cash are accepted."),
    ("The satellite measures the height of the sea.", "Sea level is recorded from orbit."),
    ("It took him an hour to change the tyre.", "He needed sixty minutes to replace the wheel."),
)  # fmt: skip
SENTENCES = tuple(sentence for pair in PAIRS for sentence in pair)


@cache
def _tokenizer(file: Path) -> Any:
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.enable_truncation(128)
    return tokenizer


def feeds(
    file: Path,
    names: Sequence[str],
    sentences: Sequence[str] = SENTENCES,
    *,
    batch: int = 1,
    length: int | None = None,
) -> list[dict[str, Any]]:
    """The sentences as token feeds: int64 [batch, length] under each name.

    Args:
        file: the `tokenizer.json`.
        names: which of `input_ids`, `attention_mask`, `token_type_ids` the model takes.
        sentences: what to encode.
        batch: sentences per feed; the last feed may hold fewer.
        length: pad (and cut) every sentence to this many tokens; None pads to the longest of its batch.
    """
    tokenizer = _tokenizer(file)
    encoded = [tokenizer.encode(s).ids for s in sentences]
    made: list[dict[str, Any]] = []
    for start in range(0, len(encoded), batch):
        rows = encoded[start : start + batch]
        width = length or max(map(len, rows))
        ids = np.zeros((len(rows), width), np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(rows):
            kept = tokens[:width]
            ids[row, : len(kept)] = kept
            mask[row, : len(kept)] = 1
        every = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        made.append({name: every[name] for name in names})
    return made
