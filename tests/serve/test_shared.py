"""Shared memory: keys stay in the folder, pieces in their region, and no client can hurt the server."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotlap.errors import InputError, Overloaded, TooLarge
from hotlap.serve.shared import SharedMemory
from hotlap.serve.status import Unknown
from hotlap.wire import Region

pytestmark = pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs /dev/shm, which Linux has")

SHM = Path("/dev/shm")


@pytest.fixture
def key() -> Iterator[str]:
    """The name of a file of 64 bytes in the real folder: 0, 1, 2, …"""
    name = f"hotlap-test-{secrets.token_hex(8)}"
    (SHM / name).write_bytes(bytes(range(64)))
    yield name
    (SHM / name).unlink(missing_ok=True)


@pytest.fixture
def shared() -> SharedMemory:
    return SharedMemory()


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def registered(shared: SharedMemory, key: str, offset: int = 0, nbytes: int = 64) -> SharedMemory:
    shared.register("r", key, offset, nbytes)
    return shared


# ── registering ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_region_is_registered_told_and_forgotten(shared: SharedMemory, key: str, slash: str) -> None:
    shared.register("r", slash + key, 16, 32)
    (one,) = shared.status()
    assert (one.name, one.key, one.offset, one.nbytes) == ("r", slash + key, 16, 32)
    assert shared.status("r") == [one]
    assert shared.nbytes == 32
    shared.unregister("r")
    assert shared.status() == []


def test_unregistering_all_or_what_is_not_there_is_fine(shared: SharedMemory, key: str) -> None:
    shared.register("a", key, 0, 1)
    shared.register("b", key, 0, 1)
    shared.unregister("c")
    assert [r.name for r in shared.status()] == ["a", "b"]
    shared.unregister()
    shared.unregister()
    assert shared.status() == []


def test_a_name_can_be_taken_once(shared: SharedMemory, key: str) -> None:
    registered(shared, key)
    with pytest.raises(InputError, match='region "r" is registered already'):
        shared.register("r", key, 0, 1)
    assert shared.status("r")[0].nbytes == 64


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "/",
        "//{}",
        "../{}",
        "/../dev/shm/{}",
        ".",
        "..",
        "/..",
        "a/{}",
        "{}/",
        "{}\0",
        "./{}",
        "/dev/shm/{}",
    ],
)
def test_no_key_leads_out_of_the_folder(shared: SharedMemory, key: str, bad: str) -> None:
    with pytest.raises(InputError, match="expected the name of a file in /dev/shm"):
        shared.register("r", bad.format(key), 0, 1)
    assert shared.status() == []


def test_a_link_is_refused_even_to_a_file_of_the_folder(
    shared: SharedMemory, key: str, tmp_path: Path
) -> None:
    link = SHM / f"{key}-link"
    for target in (SHM / key, tmp_path / "secret"):
        target.touch()
        link.symlink_to(target)
        try:
            with pytest.raises(InputError, match="cannot be opened: it is a link"):
                shared.register("r", link.name, 0, 1)
        finally:
            link.unlink()


def test_pipes_folders_and_sockets_are_refused_and_nothing_waits_for_them(
    shared: SharedMemory, key: str
) -> None:
    path = SHM / f"{key}-odd"
    os.mkfifo(path)
    try:
        with pytest.raises(InputError, match="no regular file"):
            shared.register("r", path.name, 0, 1)
    finally:
        path.unlink()
    path.mkdir()
    try:
        with pytest.raises(InputError, match="cannot be opened: Is a directory"):
            shared.register("r", path.name, 0, 1)
    finally:
        path.rmdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        try:
            with pytest.raises(InputError, match="cannot be opened"):
                shared.register("r", path.name, 0, 1)
        finally:
            path.unlink()


def test_what_is_not_there_and_semaphores_are_refused(shared: SharedMemory, key: str) -> None:
    with pytest.raises(InputError, match=r"cannot be opened: No such file or directory$"):
        shared.register("r", f"{key}-none", 0, 1)
    with pytest.raises(InputError, match="semaphore"):
        shared.register("r", f"sem.{key}", 0, 1)
    with pytest.raises(InputError, match="cannot be opened: File name too long") as told:
        shared.register("r", "x" * 100_000, 0, 1)
    assert len(str(told.value)) < 200
    with pytest.raises(InputError, match="cannot be opened"):
        shared.register("r", "\udc80\ud800", 0, 1)


@pytest.mark.parametrize(
    ("offset", "nbytes"),
    [(0, 65), (64, 1), (-1, 4), (0, 0), (0, -1), (2**63, 1), (0, 2**64), (-(2**70), 2**71)],
)
def test_a_region_must_lie_inside_of_its_file(
    shared: SharedMemory, key: str, offset: int, nbytes: int
) -> None:
    with pytest.raises(InputError, match=f"{nbytes} bytes from {offset} on, but .* holds 64"):
        shared.register("r", key, offset, nbytes)


def test_there_are_only_so_many_regions(key: str) -> None:
    shared = SharedMemory(most_regions=2)
    shared.register("a", key, 0, 1)
    shared.register("b", key, 0, 1)
    with pytest.raises(Overloaded, match="2 regions are registered"):
        shared.register("c", key, 0, 1)


def test_it_can_be_switched_off(key: str) -> None:
    shared = SharedMemory(allowed=False)
    with pytest.raises(InputError, match="switched off"):
        shared.register("r", key, 0, 1)
    shared.unregister()
    assert shared.status() == []


def test_a_system_without_the_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no .*nowhere on this server"):
        SharedMemory(tmp_path / "nowhere").register("r", "k", 0, 1)


def test_refused_and_forgotten_regions_hold_no_descriptor(shared: SharedMemory, key: str) -> None:
    before = descriptors()
    registered(shared, key)
    assert descriptors() == before + 1
    shared.unregister()
    for nbytes in (65, 10**9):
        with pytest.raises(InputError):
            shared.register("r", key, 0, nbytes)
    assert descriptors() == before


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user"
)
def test_a_file_that_may_only_be_read_serves_inputs_alone(key: str) -> None:
    (SHM / key).chmod(0o444)
    script = f"""
import os
from hotlap.errors import InputError
from hotlap.serve.shared import SharedMemory
from hotlap.wire import Region
os.setgid(65534)
os.setuid(65534)
shared = SharedMemory()
shared.register("r", {key!r}, 0, 64)
assert shared.read(Region("r", 3, 2)) == bytes([3, 4])
try:
    shared.write(Region("r", 0, 4), [b"abcd"])
except InputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == 'region "r": this server may only read it\n', done.stderr


# ── using ────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_array_is_filled_from_the_middle_of_a_region(shared: SharedMemory, key: str) -> None:
    registered(shared, key, 8, 32)
    array = np.zeros((2, 2), "<u2")
    shared.read_into(Region("r", 4, 8), array)
    assert array.tobytes() == bytes(range(12, 20))
    assert shared.read(Region("r", 30, 2)) == bytes([38, 39])


def test_buffers_are_written_one_behind_the_other(shared: SharedMemory, key: str) -> None:
    registered(shared, key, 8, 32)
    shared.write(Region("r", 2, 8), [b"ab", b"", memoryview(np.array([7, 8], "<u2")), bytearray(b"z")])
    now = (SHM / key).read_bytes()
    assert now == bytes(range(10)) + b"ab\7\0\x08\0z" + bytes(range(17, 64))


def test_many_buffers_and_large_ones_are_written_whole(shared: SharedMemory, key: str) -> None:
    words = [n.to_bytes(4, "little") for n in range(3000)]
    (SHM / key).write_bytes(bytes(12_000))
    registered(shared, key, 0, 12_000).write(Region("r", 0, 12_000), words)
    assert (SHM / key).read_bytes() == b"".join(words)


def test_read_only_and_empty_tensors_work(shared: SharedMemory, key: str) -> None:
    registered(shared, key)
    answer = np.arange(4, dtype=np.uint8)
    answer.flags.writeable = False
    shared.write(Region("r", 0, 4), [answer.data])
    shared.write(Region("r", 0, 0), [])
    empty = np.empty((0, 3), np.float32)
    shared.read_into(Region("r", 64, 0), empty)
    assert shared.read(Region("r", 0, 5)) == bytes([0, 1, 2, 3, 4])
    scalar = np.zeros((), np.uint32)
    shared.read_into(Region("r", 4, 4), scalar)
    assert scalar == int.from_bytes(bytes([4, 5, 6, 7]), "little")


def test_pieces_may_overlap_and_an_input_is_read_before_its_place_is_written(
    shared: SharedMemory, key: str
) -> None:
    registered(shared, key)
    array = np.empty(8, np.uint8)
    shared.read_into(Region("r", 0, 8), array)
    shared.write(Region("r", 4, 8), [(array + 100).data])
    assert array.tolist() == list(range(8))
    assert shared.read(Region("r", 0, 14)) == bytes([0, 1, 2, 3, *range(100, 108), 12, 13])


def test_a_region_that_was_never_registered_is_named_with_its_nearest(shared: SharedMemory, key: str) -> None:
    shared.register("input0", key, 0, 4)
    with pytest.raises(Unknown, match=r'"input1" is not registered \(did you mean "input0"\?\)'):
        shared.read(Region("input1", 0, 4))
    with pytest.raises(Unknown):
        shared.status("output0")


def test_types_that_numpy_lacks_are_filled_too(shared: SharedMemory, key: str) -> None:
    registered(shared, key)
    array = np.zeros((2, 3), ml_dtypes.bfloat16)
    shared.read_into(Region("r", 2, 12), array)
    assert array.tobytes() == bytes(range(2, 14))


def test_an_array_with_gaps_is_the_callers_mistake(shared: SharedMemory, key: str) -> None:
    registered(shared, key)
    with pytest.raises(ValueError, match="not C-contiguous"):
        shared.read_into(Region("r", 0, 8), np.zeros((4, 4), np.uint8)[:, :2])


def test_a_size_that_is_not_the_arrays_is_refused(shared: SharedMemory, key: str) -> None:
    registered(shared, key)
    with pytest.raises(InputError, match="8 bytes given, the tensor has 16"):
        shared.read_into(Region("r", 0, 8), np.zeros(4, np.float32))


def test_an_answer_that_does_not_fit_leaves_the_region_as_it_was(shared: SharedMemory, key: str) -> None:
    registered(shared, key)
    with pytest.raises(InputError, match="the tensor has 9 bytes, but there is room for 8"):
        shared.write(Region("r", 0, 8), [bytes(5), bytes(4)])
    assert (SHM / key).read_bytes() == bytes(range(64))


def test_a_sparse_file_does_not_make_the_server_allocate(shared: SharedMemory, key: str) -> None:
    os.truncate(SHM / key, 1 << 40)
    registered(shared, key, 0, 1 << 40)
    with pytest.raises(TooLarge, match="this server takes 1073741824"):
        shared.read(Region("r", 0, 1 << 40))
    assert shared.read(Region("r", (1 << 40) - 4, 4)) == bytes(4)


# ── a client that changes its file meanwhile ─────────────────────────────────────────────────────────────


def test_a_file_cut_short_after_registering_is_an_error_of_that_request(
    shared: SharedMemory, key: str
) -> None:
    registered(shared, key)
    os.truncate(SHM / key, 10)
    array = np.zeros(16, np.uint8)
    for use in (
        lambda: shared.read_into(Region("r", 0, 16), array),
        lambda: shared.read(Region("r", 0, 16)),
        lambda: shared.write(Region("r", 0, 16), [bytes(16)]),
        lambda: shared.check(Region("r", 0, 16)),
    ):
        with pytest.raises(InputError, match="shorter than when it was registered"):
            use()
    assert (SHM / key).stat().st_size == 10
    assert shared.read(Region("r", 0, 10)) == bytes(range(10))


def test_a_file_cut_short_between_the_look_and_the_read_is_one_too(
    shared: SharedMemory, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered(shared, key)
    real = os.fstat

    def cut_after_the_look(number: int) -> os.stat_result:
        seen = real(number)
        os.truncate(SHM / key, 10)
        return seen

    monkeypatch.setattr(os, "fstat", cut_after_the_look)
    with pytest.raises(InputError, match="shorter than when it was registered"):
        shared.read(Region("r", 0, 64))


def test_a_file_that_grows_keeps_its_registered_bounds(shared: SharedMemory, key: str) -> None:
    registered(shared, key)
    os.truncate(SHM / key, 128)
    with pytest.raises(InputError, match="registered with 64"):
        shared.read(Region("r", 60, 8))
    assert shared.read(Region("r", 60, 4)) == bytes(range(60, 64))


def test_a_name_that_is_replaced_later_changes_nothing(
    shared: SharedMemory, key: str, tmp_path: Path
) -> None:
    registered(shared, key)
    secret = tmp_path / "secret"
    secret.write_bytes(b"s" * 64)
    (SHM / key).unlink()
    (SHM / key).symlink_to(secret)
    assert shared.read(Region("r", 0, 4)) == bytes([0, 1, 2, 3])
    shared.write(Region("r", 0, 4), [b"abcd"])
    assert secret.read_bytes() == b"s" * 64


def test_a_full_folder_is_an_error_of_that_request(
    shared: SharedMemory, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered(shared, key)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwritev", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        shared.write(Region("r", 0, 4), [bytes(4)])


def test_a_client_that_cuts_and_regrows_all_the_time_gets_bytes_or_errors(
    shared: SharedMemory, key: str
) -> None:
    size = 1 << 20
    os.truncate(SHM / key, size)
    registered(shared, key, 0, size)
    stop = threading.Event()

    def cut() -> None:
        while not stop.is_set():
            os.truncate(SHM / key, 0)
            os.truncate(SHM / key, size)

    thread = threading.Thread(target=cut)
    thread.start()
    answered = refused = 0
    array = np.empty(size, np.uint8)
    try:
        end = time.monotonic() + 20
        while min(answered, refused) < 30 and time.monotonic() < end:
            try:
                shared.read_into(Region("r", 0, size), array)
                shared.write(Region("r", 0, size), [array.data])
                answered += 1
            except InputError:
                refused += 1
    finally:
        stop.set()
        thread.join()
    assert min(answered, refused) >= 30


def test_a_reader_in_another_thread_outlives_the_region(shared: SharedMemory, key: str) -> None:
    size = 1 << 16
    (SHM / key).write_bytes(b"\1" * size)
    seen: set[bytes] = set()
    failures: list[BaseException] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            try:
                seen.add(bytes(shared.read(Region("r", 0, size))))
            except Unknown:
                pass
            except InputError as error:
                failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    other = SHM / f"{key}-other"
    other.write_bytes(b"\2" * size)
    try:
        for _ in range(500):
            shared.register("r", key, 0, size)
            shared.unregister("r")
            # Takes the number that the region's descriptor had, if that was closed too early.
            os.close(os.open(other, os.O_RDONLY))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        other.unlink()
    assert failures == []
    assert seen <= {b"\1" * size}


# ── any numbers ──────────────────────────────────────────────────────────────────────────────────────────

numbers = st.one_of(
    st.integers(-4, 80), st.integers(-(2**70), 2**70), st.sampled_from([2**31, 2**32, 2**63, 2**64])
)


@settings(max_examples=300, deadline=None)
@given(offset=numbers, nbytes=numbers, at=numbers, count=numbers)
def test_pieces_are_read_right_or_refused(offset: int, nbytes: int, at: int, count: int) -> None:
    content = bytes(range(64))
    name = f"hotlap-test-{os.getpid()}"
    shared = SharedMemory()
    (SHM / name).write_bytes(content)
    try:
        fits = offset >= 0 and nbytes >= 1 and offset + nbytes <= 64
        try:
            shared.register("r", name, offset, nbytes)
        except InputError:
            assert not fits
            return
        assert fits
        inside = at >= 0 and count >= 0 and at + count <= nbytes
        try:
            assert shared.read(Region("r", at, count)) == content[offset + at : offset + at + count]
            assert inside
            shared.write(Region("r", at, count), [b"x" * count])
        except InputError:
            assert not inside
            assert (SHM / name).read_bytes() == content
        else:
            start = offset + at
            assert (SHM / name).read_bytes() == content[:start] + b"x" * count + content[start + count :]
    finally:
        (SHM / name).unlink()
