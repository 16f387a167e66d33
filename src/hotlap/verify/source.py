"""Inputs that a Python function of the user's yields, called in the process that runs the model."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from hotlap.bench.calling import imported
from hotlap.errors import UsageError

__all__ = ["FeedSource"]

MOST = 10_000


class FeedSource(msgspec.Struct, frozen=True, kw_only=True):
    """``module:function`` of no arguments, which gives feeds one after the other.

    Attributes:
        function: where it is.
        folder: absolute; where its module is looked for first.
        most: feeds that are taken of it; it may be endless.
    """

    function: str
    folder: str
    most: int = MOST

    def feeds(self) -> Iterator[dict[str, Any]]:
        """What it gives, as arrays.

        Raises:
            UsageError: no such function, or it fails, or gives something else than feeds.
        """
        function = imported(self.function, self.folder)
        try:
            for number, feed in enumerate(itertools.islice(function(), self.most)):
                if not isinstance(feed, Mapping):
                    raise UsageError(
                        f"{self.function}: feed {number} is {type(feed).__name__}, no dict of name to array"
                    )
                yield {str(name): np.asarray(value) for name, value in feed.items()}
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(f"{self.function}: {type(error).__name__}: {error}") from error
