"""Archives of all kinds: none may write outside its folder or more than it has reserved."""

import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hosting.archives import model, packed, special
from triton_ensembles.sagemaker.extraction import ExtractionError, extract

GOOD = packed(model() | {"run.sh": b"#!/bin/sh"} | {"./a/./b//c": b"deep"})


def test_files_come_out_with_their_content_time_and_nothing_else_of_the_archive(tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(GOOD)
    reserved: list[int] = []
    size = extract(tmp_path / "archive", tmp_path / "out", reserved.append)
    assert (tmp_path / "out/a/b/c").read_bytes() == b"deep"
    assert (tmp_path / "out/identity/config.pbtxt").stat().st_mtime == 1_000_000_000
    assert size == sum(reserved) >= sum(path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file())


def test_nothing_is_written_that_was_not_reserved(tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(packed({"a": b"x" * 5000, "b": b"x" * 5000}))

    def reserve(size: int) -> None:
        if list((tmp_path / "out").iterdir()):
            raise InterruptedError

    with pytest.raises(InterruptedError):
        extract(tmp_path / "archive", tmp_path / "out", reserve)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a"]


UNSAFE = "sagemaker-unsafe-member"
BAD_ARCHIVES = {
    "truncated": (GOOD[: len(GOOD) // 2], "archive-truncated", r"breaks off before its end.*; upload it again"),
    "empty": (b"", "archive-unreadable", "the file is empty"),
    "not gzip": (b"PK\x03\x04 a zip", "archive-unreadable", "not a gzip file.*; upload a tar archive compressed"),
    "bomb": (packed({"zeros.bin": b"\0" * (101 << 20)}), "archive-bomb", "more than 100 times its size"),
    "traversal": (packed({"../../evil": b"x"}), UNSAFE, "'../../evil' leads out of the model's folder"),
    "absolute": (packed({"/etc/x": b"x"}), UNSAFE, "'/etc/x'"),
    "long name": (packed({"n" * 300: b"x"}), UNSAFE, "is not a valid file name"),
    "file and folder": (packed({"a": b"x", "a/b": b"y"}), UNSAFE, "'a/b' is both a file and a folder"),
    "symbolic link": (packed({}, special("a/l", tarfile.SYMTYPE, "/etc")), "sagemaker-symbolic-link", "link to '/etc'"),
    "hard link": (packed({}, special("l", tarfile.LNKTYPE, "a")), "sagemaker-hard-link", "'l' is a hard link to 'a'"),
    "device": (packed({}, special("null", tarfile.CHRTYPE)), "sagemaker-device", "'null' is a device or a pipe"),
}


@pytest.mark.parametrize("kind", BAD_ARCHIVES)
def test_a_bad_archive_is_refused_with_its_fault(tmp_path: Path, kind: str) -> None:
    content, rule, message = BAD_ARCHIVES[kind]
    (tmp_path / "archive").write_bytes(content)
    with pytest.raises(ExtractionError, match=message) as caught:
        extract(tmp_path / "archive", tmp_path / "out", lambda _: None)
    assert caught.value.rule == rule


names = st.text(st.sampled_from("./\\ab\0 é"), max_size=12)
kinds = st.sampled_from([tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, b"S"])


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(names, kinds, names), max_size=5))
def test_no_member_gets_out_of_its_folder(members: list[tuple[str, bytes, str]]) -> None:
    try:
        content = packed({}, *(special(name, kind, target) for name, kind, target in members))
    except (ValueError, UnicodeError, tarfile.TarError):
        return  # tarfile itself does not write it
    unharmed(content)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255), st.integers(0, len(GOOD)))
def test_a_damaged_archive_is_refused_or_unpacked_but_nothing_worse(at: int, byte: int, end: int) -> None:
    unharmed(GOOD[:at] + bytes([byte]) + GOOD[at + 1 : end])


def unharmed(content: bytes) -> None:
    """Unpacking it succeeds or raises ExtractionError, and leaves only plain files and folders, all in its folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "archive").write_bytes(content)
        try:
            extract(folder / "archive", folder / "out" / "model", lambda _: None)
        except ExtractionError as error:
            assert error.cure
        assert sorted(path.name for path in folder.iterdir()) == ["archive", "out"]
        assert [path.name for path in (folder / "out").iterdir()] == ["model"]
        assert all(path.is_file() or path.is_dir() for path in folder.rglob("*"))
        assert not [path for path in folder.rglob("*") if path.is_symlink()]
