"""The .tar.gz: the same tree gives the same bytes, and SageMaker can extract it."""

import os
import random
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.files import packed_files, write_files
from triton_ensembles.archive.write import Packed, write_archive
from triton_ensembles.ground.errors import EnsembleError


def make_tree(folder: Path, order: list[str]) -> Path:
    write_files(folder, {name: f"content of {name}" for name in order})
    (folder / "m" / "run.sh").chmod(0o700)
    (folder / "empty" / "1").mkdir(parents=True)
    return folder


NAMES = ["m/config.pbtxt", "m/1/model.py", "m/run.sh", "b/1/model.onnx", "manifest.json"]


def test_the_same_tree_gives_the_same_bytes_whatever_its_order_times_and_masks(tmp_path: Path) -> None:
    second = make_tree(tmp_path / "two", NAMES[::-1])
    (second / "m" / "config.pbtxt").chmod(0o600)
    os.utime(second / "manifest.json", (1, 1))
    write_archive(make_tree(tmp_path / "one", NAMES), tmp_path / "one.tar.gz")
    write_archive(second, tmp_path / "other.tar.gz")
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "other.tar.gz").read_bytes()


def test_members_lie_at_the_root_sorted_and_owned_by_root_with_empty_folders(tmp_path: Path) -> None:
    write_archive(make_tree(tmp_path / "tree", NAMES), tmp_path / "a.tar.gz")
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        members = tar.getmembers()
    names = [member.name for member in members]
    assert names == sorted(names)
    assert {"m/config.pbtxt", "empty/1", "manifest.json"} <= set(names)
    assert {(member.uid, member.gid, member.uname) for member in members} == {(0, 0, "root")}
    assert {member.name: member.mode for member in members}["m/run.sh"] == 0o755


def test_what_an_earlier_archive_has_is_copied_and_gives_the_same_bytes(tmp_path: Path) -> None:
    """Otherwise a changed line of model.py takes as long as a new archive, or gives another one."""
    random_bytes = random.Random(0).randbytes
    content = {"a/weights": random_bytes(3 << 20), "b/library": b"text " * (1 << 18), "c/model.py": b"pass"}
    earlier = write_archive(write_files(tmp_path / "tree", content), tmp_path / "earlier.tar.gz")
    changed = write_files(tmp_path / "tree", {"c/model.py": b"changed", "b/new": random_bytes(1 << 19)})
    write_archive(changed, tmp_path / "fresh.tar.gz")
    write_archive(changed, tmp_path / "copied.tar.gz", earlier=earlier)
    assert (tmp_path / "copied.tar.gz").read_bytes() == (tmp_path / "fresh.tar.gz").read_bytes()
    subprocess.run(["gzip", "--test", tmp_path / "copied.tar.gz"], check=True)
    assert packed_files(tmp_path / "copied.tar.gz")["b/library"] == content["b/library"]
    spoiled = Packed(earlier.path, {sha256: (start + 1, length) for sha256, (start, length) in earlier.places.items()})
    write_archive(changed, tmp_path / "spoiled.tar.gz", earlier=spoiled)
    assert subprocess.run(["gzip", "--test", tmp_path / "spoiled.tar.gz"], check=False).returncode != 0  # it was used


def test_a_link_is_refused_by_name_and_the_previous_archive_stays(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", NAMES)
    write_archive(tree, tmp_path / "a.tar.gz")
    before = (tmp_path / "a.tar.gz").read_bytes()
    (tree / "m" / "link").symlink_to("run.sh")
    with pytest.raises(EnsembleError, match=r"m/link: SageMaker refuses"):
        write_archive(tree, tmp_path / "a.tar.gz")
    assert (tmp_path / "a.tar.gz").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz", "tree"]


def test_a_new_environment_has_a_new_time(tmp_path: Path) -> None:
    """Otherwise an updated step runs in the old environment, which Triton caches by path and time."""
    times = []
    for content in (b"first", b"second"):
        tree = write_files(tmp_path / content.decode(), {"processing_env.tar.gz": content})
        write_archive(tree, tmp_path / "a.tar.gz")
        with tarfile.open(tmp_path / "a.tar.gz") as tar:
            times.append(tar.getmember("processing_env.tar.gz").mtime)
    assert times[0] != times[1]


def test_weights_are_stored_and_text_is_deflated_and_gunzip_reads_both(tmp_path: Path) -> None:
    """Otherwise a cold start spends most of its unpacking on weights that hardly shrink."""
    content = {"a.txt": b"text " * 700_000, "m.bin": random.Random(0).randbytes(5_000_000), "z.txt": b"more " * 700_000}
    write_archive(write_files(tmp_path / "tree", content), tmp_path / "a.tar.gz")
    assert 5_000_000 < (tmp_path / "a.tar.gz").stat().st_size < 6_500_000
    archive = (tmp_path / "a.tar.gz").read_bytes()
    assert any(content["m.bin"][at : at + 1000] in archive for at in (2_000_000, 2_030_000))
    subprocess.run(["tar", "-xzf", tmp_path / "a.tar.gz", "-C", tmp_path], check=True)
    assert {name: (tmp_path / name).read_bytes() for name in content} == content
