from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hotlap.bench import load_feeds, save_feeds
from hotlap.errors import InputError, UsageError


def write(path: Path, **arrays: object) -> Path:
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


def test_one_file_is_one_feed_as_given(tmp_path: Path) -> None:
    file = write(tmp_path / "a.npz", x=np.arange(6, dtype=np.int64).reshape(3, 2), n=np.float32(2))
    (feed,) = load_feeds(file)
    assert list(feed) == ["x", "n"]
    assert feed["x"].dtype == np.int64 and feed["x"].shape == (3, 2)
    assert feed["n"].shape == () and feed["n"].dtype == np.float32


def test_a_folder_is_many_in_the_order_of_the_names_and_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        write(tmp_path / f"{name}.npz", x=np.array([ord(name)]))
    (tmp_path / "notes.txt").write_text("not a feed")
    assert [int(feed["x"][0]) for feed in load_feeds(tmp_path)] == [97, 98, 99]


def test_rows_split_axis_0_and_keep_it(tmp_path: Path) -> None:
    file = write(tmp_path / "a.npz", x=np.arange(6).reshape(3, 2), mask=np.ones((3, 4)))
    feeds = load_feeds(file, rows=True)
    assert len(feeds) == 3
    assert feeds[1]["x"].tolist() == [[2, 3]] and feeds[1]["mask"].shape == (1, 4)


def test_rows_of_arrays_that_differ_on_axis_0_name_them(tmp_path: Path) -> None:
    file = write(tmp_path / "a.npz", x=np.ones((3, 2)), n=np.float32(2), y=np.ones((4, 2)))
    with pytest.raises(InputError, match='"x" has 3, "n" has no axis, "y" has 4'):
        load_feeds(file, rows=True)


def test_rows_of_an_empty_axis_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no row"):
        load_feeds(write(tmp_path / "a.npz", x=np.ones((0, 2))), rows=True)


def test_text_comes_back_as_unicode(tmp_path: Path) -> None:
    feeds = [{"t": np.array([["grüß"], ["a"]], dtype=object)}]
    (back,) = load_feeds(save_feeds(tmp_path / "out", feeds))
    assert back["t"].dtype.kind == "U" and back["t"].tolist() == [["grüß"], ["a"]]


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["x", "file", "input.1", "a:0"]),
            hnp.arrays(
                st.sampled_from(["f4", "i8", "u1", "bool", "f2"]), hnp.array_shapes(min_dims=0, max_dims=3)
            ),
            min_size=1,
        ),
        min_size=1,
        max_size=3,
    )
)
def test_what_was_saved_is_loaded_in_the_same_order(
    tmp_path_factory: pytest.TempPathFactory, feeds: list[dict[str, np.ndarray]]
) -> None:
    back = load_feeds(save_feeds(tmp_path_factory.mktemp("feeds"), feeds))
    assert len(back) == len(feeds)
    for want, got in zip(feeds, back, strict=True):
        assert list(want) == list(got)
        for name in want:
            np.testing.assert_array_equal(want[name], got[name], strict=True)


def test_pickled_objects_are_never_read(tmp_path: Path) -> None:
    file = write(tmp_path / "a.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="never unpickled"):
        load_feeds(file)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not really", b"\x93NUMPY", b"text"])
def test_a_broken_file_is_one_line_that_names_it(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "broken.npz"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"broken\.npz") as caught:
        load_feeds(file)
    assert "\n" not in str(caught.value)


def test_a_truncated_file_is_told(tmp_path: Path) -> None:
    file = write(tmp_path / "a.npz", x=np.ones((100, 100)))
    file.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(InputError, match=r"a\.npz: not a readable \.npz"):
        load_feeds(file)


def test_a_damaged_array_is_told(tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    np.savez_compressed(file, x=np.arange(5000))
    content = bytearray(file.read_bytes())
    content[300:400] = b"\0" * 100
    file.write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"a\.npz: not a readable \.npz"):
        load_feeds(file)


def test_a_file_without_arrays_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no array"):
        load_feeds(write(tmp_path / "a.npz"))


@pytest.mark.parametrize(
    ("name", "told"),
    [("none.npz", "no such file or folder"), ("a.npy", r"not a \.npz file"), (".", r"no \.npz file")],
)
def test_nothing_to_load_is_a_usage_error(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "a.npy").write_bytes(b"")
    with pytest.raises(UsageError, match=told):
        load_feeds(tmp_path / name)
