from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hotlap.runtime.npz import write_npz

# numpy parses the header of a file with ast, in which Python 3.11 loses count when threads take turns.
READS_BACK = pytest.mark.thread_unsafe(reason="it reads .npy files, and Python 3.11 has one ast at a time")


@READS_BACK
def test_numpy_reads_it_back_whatever_the_inputs_are_called(tmp_path: Path) -> None:
    feed = {"file": np.arange(3), "a:0": np.float16(2), "text": np.array([["grüß"]], dtype=object)}
    write_npz(tmp_path / "f.npz", feed)
    with np.load(tmp_path / "f.npz", allow_pickle=False) as back:
        assert back.files == list(feed)
        assert back["file"].tolist() == [0, 1, 2] and back["a:0"].shape == ()
        assert back["text"].dtype.kind == "U" and back["text"].tolist() == [["grüß"]]


def test_a_folder_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        write_npz(tmp_path / "none" / "f.npz", {})
