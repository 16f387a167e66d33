from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hotlap.bench.npz import read_npy, read_npz
from hotlap.errors import InputError


def npy(header: str, data: bytes = b"") -> bytes:
    """A .npy file with a header of one's own."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def npz(path: Path, *members: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    "shape", ["(4611686018427387904, 4)", "(-1, 4)", "(" * 400, "(" + "9" * 4000 + ",)", '(1, """']
)
def test_a_shape_that_cannot_be_is_one_clear_error(tmp_path: Path, shape: str) -> None:
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}"
    with pytest.raises(InputError, match=r"f\.npz: x: "):
        read_npz(npz(tmp_path / "f.npz", ("x.npy", npy(header))))


def test_elements_of_no_size_take_no_memory(tmp_path: Path) -> None:
    header = "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,)}"
    with pytest.raises(InputError, match="not a readable"):
        read_npz(npz(tmp_path / "f.npz", ("x.npy", npy(header))))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    one = io.BytesIO()
    np.save(one, np.ones(2))
    with pytest.raises(InputError, match='holds "x" twice'):
        read_npz(npz(tmp_path / "f.npz", ("x.npy", one.getvalue()), ("x.npy", one.getvalue())))


def test_archives_that_are_damaged_anywhere_give_one_kind_of_error(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "good.npz", x=np.arange(6, dtype=np.float32))
    good = (tmp_path / "good.npz").read_bytes()
    for place in range(len(good)):
        for data in (good[:place], good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :]):
            (tmp_path / "bad.npz").write_bytes(data)
            try:
                read_npz(tmp_path / "bad.npz")
            except InputError as error:
                assert "bad.npz" in str(error)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
@pytest.mark.parametrize("read", [read_npy, read_npz])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, read: object) -> None:
    os.mkfifo(tmp_path / "f.npz")
    with pytest.raises(InputError, match="no regular file"):
        read(tmp_path / "f.npz")  # type: ignore[operator]
