from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hotlap.bench import load_feeds
from hotlap.bench.parquet import read_parquet
from hotlap.errors import InputError, MissingExtra

pa: Any = pytest.importorskip("pyarrow", exc_type=ImportError)


def written(tmp_path: Path, **columns: Any) -> Path:
    import pyarrow.parquet as pq

    path = tmp_path / "data.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return path


def test_a_row_is_a_feed_and_lists_are_arrays(tmp_path: Path) -> None:
    whole = np.arange(30, dtype=np.float32).reshape(5, 2, 3)
    fixed = pa.FixedSizeListArray.from_arrays(pa.FixedSizeListArray.from_arrays(whole.ravel(), 3), 2)
    path = written(
        tmp_path,
        picture=fixed,
        ids=pa.array([[1], [2, 3], [4], [5], [6, 7, 8]], pa.list_(pa.int32())),
        rate=pa.array([1, 2, 3, 4, 5], pa.int64()),
        flag=pa.array([True, False, True, True, False]),
        text=["a", "bb", "c", "d", "e"],
    )
    feeds = load_feeds(path)
    assert len(feeds) == 5
    assert feeds[1]["picture"].dtype == np.float32 and np.array_equal(feeds[1]["picture"], whole[1:2])
    assert feeds[4]["ids"].dtype == np.int32 and feeds[4]["ids"].tolist() == [[6, 7, 8]]
    assert feeds[2]["rate"].tolist() == [3] and feeds[2]["rate"].dtype == np.int64
    assert feeds[1]["flag"].tolist() == [False] and feeds[1]["text"].tolist() == ["bb"]


def test_a_tensor_keeps_its_shape(tmp_path: Path) -> None:
    whole = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    path = written(tmp_path, x=pa.FixedShapeTensorArray.from_numpy_ndarray(whole))
    assert [f["x"].tolist() for f in read_parquet(path)] == [whole[:1].tolist(), whole[1:].tolist()]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([1.0, None]), '"x": 1 cells are empty'),
        (pa.array([[1.0, None], [2.0, 3.0]], pa.list_(pa.float32(), 2)), "1 numbers are missing"),
        (pa.array([[[1.0], [2.0, 3.0]], [[1.0], [2.0]]]), "no one shape"),
        (pa.array([{"a": 1}, {"a": 2}]), "which is no array"),
        (pa.array([b"a", b"b"]), "holds binary, which is no array"),
    ],
)
def test_what_is_no_array_is_refused(tmp_path: Path, column: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_parquet(written(tmp_path, x=column))


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match=r"not a readable \.parquet file"):
        read_parquet(tmp_path / "bad.parquet")
    with pytest.raises(InputError, match="no such file"):
        read_parquet(tmp_path / "none.parquet")
    with pytest.raises(InputError, match="holds no row"):
        read_parquet(written(tmp_path, x=pa.array([], pa.float32())))


def test_without_pyarrow_the_message_is_the_pip_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra, match=r"pip install 'hotlap\[parquet\]'"):
        read_parquet(tmp_path / "x.parquet")
