"""Archives and folders of all kinds are read or reported as a fault, in bounded time and memory."""

import gzip
import os
import random
import tarfile
import tracemalloc
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.checking.packing import packed
from tests.files import write_files
from triton_ensembles.archive.folder import read_folder
from triton_ensembles.archive.tar import read_archive, safe_path
from triton_ensembles.archive.tree import Kind
from triton_ensembles.checking import check
from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.repository import find_repositories
from triton_ensembles.ground.errors import EnsembleError

MODEL = {"scale/config.pbtxt": python_model(), "scale/1/model.py": IDENTITY}
GOOD = packed(MODEL)


def problems(path: Path, data: bytes) -> list[str]:
    path.write_bytes(data)
    return [problem.rule for problem in read_archive(path).problems]


def test_an_archive_reads_as_its_folder(tmp_path: Path) -> None:
    """Otherwise the rules see other files in an archive than in the folder that was packed."""
    write_files(tmp_path, MODEL)
    archive = tmp_path.with_suffix(".tar.gz")
    archive.write_bytes(GOOD)
    from_folder, from_archive = read_folder(tmp_path), read_archive(archive)
    assert sorted(from_folder.entries) == sorted(from_archive.entries)
    for path in MODEL:
        assert from_folder.entries[path].text == from_archive.entries[path].text
    (repository,) = find_repositories(archive)
    assert str(repository.models[0].at()).endswith(".tar.gz!scale/config.pbtxt:1")


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "archive-unreadable"),
        (b"no gzip!\n", "archive-unreadable"),
        (b"\x7fELF" + bytes(range(256)) * 40, "archive-unreadable"),
        (gzip.compress(b"no tar at all" * 100), "archive-unreadable"),
        (GOOD[: len(GOOD) // 2], "archive-truncated"),
        (GOOD[:-9] + bytes(9), "archive-truncated"),
        (gzip.compress(gzip.decompress(GOOD)[:700]), "archive-truncated"),
    ],
    ids=["empty", "nine bytes", "binary", "gzip without tar", "half", "bad checksum", "half a tar"],
)
def test_a_broken_archive_is_a_fault(tmp_path: Path, data: bytes, rule: str) -> None:
    """Otherwise an archive that SageMaker cannot unpack passes."""
    assert problems(tmp_path / "a.tar.gz", data) == [rule]
    assert rule in {fault.rule for fault in check([tmp_path / "a.tar.gz"]).faults}


def test_the_part_before_the_damage_is_checked(tmp_path: Path) -> None:
    """Otherwise a truncated archive hides the faults of what it still has."""
    noise = random.Random(0).randbytes(300_000)
    data = packed({"scale/config.pbtxt": b"max_batch_size: -1\n", "scale/1/weights": noise})
    (tmp_path / "a.tar.gz").write_bytes(data[:200_000])
    found = {fault.rule for fault in check([tmp_path / "a.tar.gz"]).faults}
    assert {"archive-truncated", "max-batch-size-negative"} <= found


def test_a_decompression_bomb_is_stopped(tmp_path: Path) -> None:
    """Otherwise a small hostile file exhausts memory or time."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    header = tarfile.TarInfo("scale/1/weights")
    header.size = 8 << 30
    data = squeeze.compress(header.tobuf()) + b"".join(squeeze.compress(bytes(1 << 20)) for _ in range(400))
    path = tmp_path / "a.tar.gz"
    path.write_bytes(data + squeeze.flush())
    tracemalloc.start()
    (problem,) = read_archive(path).problems
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert problem.rule == "archive-bomb"
    assert peak < 30 << 20


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=200), st.integers(0, 3000), st.booleans())
def test_damage_anywhere_is_a_fault_and_no_crash(tmp_path: Path, junk: bytes, at: int, inside: bool) -> None:
    """Otherwise a damaged archive crashes the checker instead of being reported."""
    plain = gzip.decompress(GOOD)
    data = gzip.compress(plain[:at] + junk + plain[at + len(junk) :]) if inside else GOOD[:at] + junk + GOOD[at:]
    path = tmp_path / "a.tar.gz"
    path.write_bytes(data)
    for fault in check([path]).faults:
        assert not fault.message.startswith("this rule itself failed"), fault


def test_names_that_lead_outside_are_kept_apart(tmp_path: Path) -> None:
    """Otherwise a member called ../x is taken for a file of the repository."""
    path = tmp_path / "a.tar.gz"
    path.write_bytes(packed({"../x": b"", "/etc/passwd": b"", "./a//b": b""}))
    tree = read_archive(path)
    assert [entry.written for entry in tree.members] == ["../x", "/etc/passwd", "./a//b"]
    assert sorted(tree.entries) == ["a", "a/b"]
    assert safe_path("a/../../b") == ""


def test_links_on_disk_are_listed_and_not_followed(tmp_path: Path) -> None:
    """Otherwise a circular link hangs the checker."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "again").symlink_to(tmp_path)
    (tmp_path / "model" / "nowhere").symlink_to("missing")
    os.mkfifo(tmp_path / "model" / "pipe")
    tree = read_folder(tmp_path)
    kinds = {path: entry.kind for path, entry in tree.entries.items()}
    links = {"model/again": Kind.SYMLINK, "model/nowhere": Kind.SYMLINK}
    assert kinds == {"model": Kind.FOLDER, **links, "model/pipe": Kind.OTHER}
    assert tree.is_folder("model/again")


def test_folders_of_repositories(tmp_path: Path) -> None:
    """Otherwise `check` looks at the wrong folders, or at none."""
    for name in ("one/scale", "two/scale", "two/join"):
        (tmp_path / name / "1").mkdir(parents=True)
        (tmp_path / name / "config.pbtxt").write_text(python_model())
    (tmp_path / "three.tar.gz").write_bytes(GOOD)
    (tmp_path / "notes").mkdir()
    assert [repository.path.name for repository in find_repositories(tmp_path)] == ["one", "three.tar.gz", "two"]
    (lone,) = find_repositories(tmp_path / "one" / "scale")
    assert lone.is_one_model and [model.folder for model in lone.models] == ["scale"]
    with pytest.raises(EnsembleError, match="there is no model here"):
        check([tmp_path / "notes"])
    with pytest.raises(EnsembleError, match="there is no such file"):
        check([tmp_path / "missing"])
