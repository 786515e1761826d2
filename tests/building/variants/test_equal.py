"""Clones in which nothing differs but the names: their content, who reads them, and what is refused at once."""

import hashlib
import json
import subprocess
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checking.packing import members, python_step
from tests.commands.projects import run
from tests.files import packed_files, write_files
from tests.work import calls_of
from triton_ensembles.archive.write import write_archive
from triton_ensembles.building.variants.table import clone_names
from triton_ensembles.building.variants.written import clone
from triton_ensembles.ground.errors import EnsembleError

ENVIRONMENT = "$$TRITON_MODEL_DIRECTORY/../pair.step/environment"


def archive(folder: Path, sizes: tuple[int, ...] = (10, 70_000, 200_001)) -> Path:
    """An archive as build.py build writes it: an ensemble "pair" of one step, with files of these sizes."""
    manifest = {"ensemble": "pair", "weights": "pretrained", "long": "x" * 100_000}
    files = {
        **members("pair", ENVIRONMENT),
        "pair.step/environment/bin/python3.11": _bytes(65_537),
        f"pair.step/environment/lib/{'long' * 30}/module.so": _bytes(9_999),
        **{f"pair.step/1/file_{size}": _bytes(size) for size in sizes},
        "manifest.json": json.dumps(manifest),
    }
    write_archive(write_files(folder / "tree", files), folder / "pair.tar.gz")
    return folder / "pair.tar.gz"


def _bytes(size: int) -> bytes:
    return hashlib.shake_128(str(size).encode()).digest(size)


@settings(max_examples=20, deadline=None)
@given(sizes=st.lists(st.sampled_from([0, 1, 511, 512, 513, 65_536, 65_537, 131_072, 300_000]), unique=True))
def test_a_clone_has_the_files_of_its_original(tmp_path_factory: pytest.TempPathFactory, sizes: list[int]) -> None:
    """Otherwise a tenant would get broken weights, or a file would be missing or shifted by some bytes."""
    folder = tmp_path_factory.mktemp("clone")
    original = archive(folder, tuple(sizes))
    first, second = clone(original, ["a_0", "a_1"], folder)
    wanted = {name.replace("pair", "a_1"): content for name, content in packed_files(original).items()}
    found = packed_files(second)
    assert found.keys() == wanted.keys()
    for name, content in found.items():
        assert content == wanted[name] or name.endswith((".pbtxt", ".json")), name
    assert packed_files(first).keys() != found.keys()


def test_what_clones_have_in_common_is_made_once(tmp_path: Path) -> None:
    """Configs and tar headers differ in names alone: of a thousand clones, they were most of the work."""
    original = archive(tmp_path)
    few, many = (
        calls_of(partial(list, clone(original, clone_names("tenant", count), tmp_path / str(count))))
        for count in (2, 12)
    )
    # 1 400 for each. A config of its own would be 370 more, and the headers of all its members 670.
    assert many - few < 10 * 1600


def test_gnu_tar_reads_a_clone(tmp_path: Path) -> None:
    """Otherwise SageMaker, which does not extract with Python, would see only the first of several gzip members."""
    (path,) = clone(archive(tmp_path), ["x_0"], tmp_path)
    listed = subprocess.run(["tar", "tzf", path], capture_output=True, text=True, check=True)
    assert "x_0.step/1/file_200001" in listed.stdout.splitlines()
    assert not listed.stderr


@pytest.mark.parametrize("keep", [100, 50_000])
def test_a_damaged_archive_is_refused_and_nothing_is_written(tmp_path: Path, keep: int) -> None:
    original = archive(tmp_path)
    original.write_bytes(original.read_bytes()[:keep])
    with pytest.raises(EnsembleError, match="not a complete"):
        list(clone(original, ["x_0"], tmp_path / "out"))
    assert list((tmp_path / "out").iterdir()) == []


def test_more_clones_than_fit_on_the_disk_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = archive(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=10 * original.stat().st_size))
    with pytest.raises(EnsembleError, match=r"11 clones of pair.tar.gz need .* are free"):
        list(clone(original, clone_names("t", 11), tmp_path / "out"))
    assert list((tmp_path / "out").iterdir()) == []


def test_clone_says_how_to_build_a_missing_archive_and_refuses_numbers_that_fill_the_memory() -> None:
    result = run("clone", "no_such", "--count", "2", "--prefix", "t")
    assert result.exit_code == 1
    assert "run: build.py build no_such" in result.output
    result = run("clone", "no_such", "--count", "9999999999", "--prefix", "a")
    assert result.exit_code == 2
    assert "1<=x<=1000000" in result.output


@pytest.mark.parametrize("line", ["# caf\xe9", 'parameters { key: "at" value { string_value: "caf\xe9" } }'])
def test_an_encoding_other_than_utf_8_is_taken_in_a_comment_and_refused_in_a_value(line: str, tmp_path: Path) -> None:
    original = archive(tmp_path)
    (tmp_path / "tree" / "pair.step" / "config.pbtxt").write_bytes(f"{line}\n{python_step()}".encode("latin-1"))
    write_archive(tmp_path / "tree", original)
    if line.startswith("#"):
        assert len(list(clone(original, ["a"], tmp_path / "clones"))) == 1
        return
    with pytest.raises(EnsembleError, match=r"a value in this config is not text in UTF-8"):
        list(clone(original, ["a"], tmp_path / "clones"))
