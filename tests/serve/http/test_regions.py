"""The addresses of shared memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hotlap.serve.shared import SharedMemory
from tests.serve.http.asking import Asking

pytestmark = pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs /dev/shm, which Linux has")

SYSTEM, CUDA = "/v2/systemsharedmemory", "/v2/cudasharedmemory"


@pytest.fixture
def asking() -> Asking:
    return Asking()


@pytest.fixture
def key() -> Iterator[str]:
    path = Path(f"/dev/shm/hotlap-test-regions-{os.getpid()}")
    path.write_bytes(bytes(64))
    yield f"/{path.name}"
    path.unlink()


def test_from_registering_to_forgetting(asking: Asking, key: str) -> None:
    assert asking.get(f"{SYSTEM}/status") == (200, [])
    assert asking.post(f"{SYSTEM}/region/a/register", {"key": key, "offset": 8, "byte_size": 16}) == (
        200,
        None,
    )
    assert asking.post(f"{SYSTEM}/region/b/register", {"key": key, "byte_size": 64}) == (200, None)
    a = {"name": "a", "key": key, "offset": 8, "byte_size": 16}
    b = {"name": "b", "key": key, "offset": 0, "byte_size": 64}
    assert asking.get(f"{SYSTEM}/status") == (200, [a, b])
    assert asking.get(f"{SYSTEM}/region/b/status") == (200, [b])
    assert asking.post(f"{SYSTEM}/region/a/unregister") == (200, None)
    assert asking.get(f"{SYSTEM}/status") == (200, [b])
    assert asking.post(f"{SYSTEM}/unregister", b"anything") == (200, None)
    assert asking.post(f"{SYSTEM}/unregister") == (200, None)
    assert asking.get(f"{SYSTEM}/status") == (200, [])


def test_names_may_hold_anything_that_an_address_can_carry(asking: Asking, key: str) -> None:
    assert asking.post(f"{SYSTEM}/region/in%2F0%20%C3%BC/register", {"key": key, "byte_size": 4})[0] == 200
    assert asking.get(f"{SYSTEM}/status")[1][0]["name"] == "in/0 ü"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"null",
        {},
        {"key": "k"},
        {"byte_size": 4},
        {"key": 1, "byte_size": 4},
        {"key": "k", "byte_size": "4"},
        {"key": "k", "byte_size": 4.5},
        {"key": "k", "byte_size": True},
        {"key": "k", "byte_size": None},
        {"key": "k", "byte_size": 4, "offset": "x"},
    ],
)
def test_what_is_no_registration_is_400_and_says_what_one_is(asking: Asking, body: Any) -> None:
    status, told = asking.post(f"{SYSTEM}/region/r/register", body)
    assert status == 400
    assert told["error"].startswith('registering a region takes {"key": text, "offset": number, "byte_size"')


@pytest.mark.parametrize("numbers", [(-1, 4), (0, 65), (0, 0), (2**63, 1), (0, 2**64), (-(2**65), 4)])
def test_what_is_no_piece_of_the_file_is_400(asking: Asking, key: str, numbers: tuple[int, int]) -> None:
    offset, nbytes = numbers
    body = {"key": key, "offset": offset, "byte_size": nbytes}
    assert asking.post(f"{SYSTEM}/region/r/register", body)[0] == 400
    assert asking.get(f"{SYSTEM}/status") == (200, [])


def test_problems_have_the_tables_status(asking: Asking, key: str) -> None:
    assert asking.get(f"{SYSTEM}/region/r/status") == (404, {"error": 'region "r" is not registered'})
    assert asking.post(f"{SYSTEM}/region/r/register", {"key": "../x", "byte_size": 1})[0] == 400
    assert asking.post(f"{SYSTEM}/region/r/register", {"key": key, "byte_size": 1})[0] == 200
    status, told = asking.post(f"{SYSTEM}/region/r/register", {"key": key, "byte_size": 1})
    assert (status, told["error"]) == (400, 'region "r" is registered already: unregister it first')
    few = Asking(SharedMemory(most_regions=0))
    assert few.post(f"{SYSTEM}/region/r/register", {"key": key, "byte_size": 1})[0] == 429
    off = Asking(SharedMemory(allowed=False))
    assert off.post(f"{SYSTEM}/region/r/register", {"key": key, "byte_size": 1})[0] == 400


def test_gpu_memory_is_answered_as_by_a_server_without_a_gpu(asking: Asking) -> None:
    assert asking.get(f"{CUDA}/status") == (200, [])
    assert asking.get(f"{CUDA}/region/r/status")[0] == 404
    assert asking.post(f"{CUDA}/unregister") == (200, None)
    assert asking.post(f"{CUDA}/region/r/unregister") == (200, None)
    body = {"raw_handle": {"b64": "AAAA"}, "device_id": 0, "byte_size": 4}
    status, told = asking.post(f"{CUDA}/region/r/register", body)
    assert status == 400
    assert told["error"].startswith("this server takes no GPU memory")
