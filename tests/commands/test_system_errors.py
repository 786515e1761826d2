"""What the system refuses is one line with the file and the cure, and nothing is left half-written."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.projects import command, done_in, run_in, write_ensemble


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_ensemble(tmp_path, "doubler")
    return tmp_path


def one_line(code: int, errors: str) -> str:
    """The one line on stderr of a command that failed."""
    assert code == 1, errors
    (line,) = errors.strip().splitlines()
    assert line.startswith("error: ")
    return line


def refused(project: Path, *words: str) -> str:
    """The one line of a command that fails in this process."""
    done = run_in(project, *words)
    return one_line(done.exit_code, done.stderr)


def add_weights(project: Path, size: int) -> None:
    """A file that does not shrink when it is compressed, so that the archive is larger than ``size``."""
    (project / "ensembles" / "doubler" / "double" / "1" / "weights.bin").write_bytes(os.urandom(size))


def leftovers(project: Path) -> list[str]:
    """List what is in build/ and dist/ and not complete."""
    return [path.name for path in project.rglob("*") if "partial" in path.name]


@pytest.mark.parametrize("blocked", ["dist", "dist/cpu", "build", "build/cpu", "dist/cpu/doubler.tar.gz"])
def test_a_file_where_a_folder_belongs_or_a_folder_where_a_file_does(project: Path, blocked: str) -> None:
    path = project / blocked
    path.parent.mkdir(exist_ok=True, parents=True)
    if path.suffix:
        path.mkdir()
        words = "this is a folder, and a file is needed here"
    else:
        path.write_text("precious")
        words = "this is not a folder, and one is needed here; move it away"
    assert refused(project, "build").startswith(f"error: {path}: {words}")
    assert path.is_dir() or path.read_text() == "precious"
    assert leftovers(project) == []


def test_a_limit_on_the_size_of_files(project: Path) -> None:
    """The same as a full disk, but for everybody: the write that fails names no file."""
    add_weights(project, 1 << 20)
    done = done_in(project, "build", largest_file=1 << 19)
    line = one_line(done.returncode, done.stderr)
    assert "doubler" in line and "this process may not write a file of that size; raise its limit" in line
    assert not (project / "dist" / "cpu" / "doubler.tar.gz").exists()
    assert leftovers(project) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_full_disk_and_one_that_is_read_only(small_disk: Path) -> None:
    write_ensemble(small_disk, "doubler")
    assert run_in(small_disk, "build").exit_code == 0
    archive = small_disk / "dist" / "cpu" / "doubler.tar.gz"
    before = archive.read_bytes()
    add_weights(small_disk, 3 << 20)
    line = refused(small_disk, "build")
    assert f"error: {small_disk}" in line
    assert "the disk is full; free some space, and run the command again; build.py prune" in line
    assert archive.read_bytes() == before
    assert leftovers(small_disk) == []
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    line = refused(small_disk, "build")
    assert line.startswith(f"error: {small_disk}") and "the file system is read-only; mount it for writing" in line


def test_an_output_that_takes_nothing(project: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command(project, "list"), stdout=full, stderr=subprocess.PIPE, text=True)
    line = one_line(done.returncode, done.stderr)
    assert "error: the disk is full, so that a file or the output could not be written" in line


def test_ports_are_refused_before_anything_is_built(project: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        busy = run_in(project, "serve", f"--grpc-port={number}")
    assert busy.stderr.startswith(f"error: port {number} (grpc) of 127.0.0.1 cannot be used: Address already in use")
    twice = run_in(project, "serve", f"--http-port={number}", f"--metrics-port={number}")
    assert twice.stderr.startswith(f"error: port {number} is given twice, for http and metrics; choose another")
    assert not (project / "dist").exists()
