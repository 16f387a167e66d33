from __future__ import annotations

from http import HTTPStatus

import pytest

from hotlap import errors
from hotlap.serve import status
from hotlap.serve.status import STATUS, Refused, row_of


def kinds(root: type[BaseException]) -> set[type[BaseException]]:
    return {root, *(k for child in root.__subclasses__() for k in kinds(child))}


def test_every_refusal_has_a_row_and_stands_in_the_tree() -> None:
    mine = {k for k in kinds(Refused) if k.__module__ == status.__name__} - {Refused}
    assert mine <= set(STATUS)
    assert all(k.__name__ in (status.__doc__ or "") for k in mine)


def test_every_row_is_a_status_that_there_is() -> None:
    for row in STATUS.values():
        assert HTTPStatus(row.status).phrase and 400 <= row.status < 600
        assert row.when


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (errors.InputError("x"), 400),
        (errors.TooLarge("x"), 413),
        (errors.Overloaded("x"), 429),
        (errors.Draining("x"), 503),
        (errors.DeadlineExceeded("x"), 504),
        (errors.ModelError("x"), 500),
        (errors.ProviderUnavailable("x"), 500),
        (status.Unknown("x"), 404),
        (ValueError("x"), 500),
        (KeyboardInterrupt(), 500),
    ],
)
def test_the_nearest_base_counts(error: BaseException, expected: int) -> None:
    assert row_of(error).status == expected
