"""Archives and folders that were made to keep a reader busy: each is refused by a line, in little time and memory."""

import gzip
import json
import os
import subprocess
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from tests.files import write_files
from triton_ensembles.archive.budget import MOST_ENTRIES, Budget
from triton_ensembles.archive.gzip_stream import GzipStream
from triton_ensembles.archive.tar import read_archive
from triton_ensembles.archive.tar_stream import TarStream
from triton_ensembles.checking import check
from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.formats import FORMATS, printed
from triton_ensembles.sagemaker.extraction import ExtractionError, extract

_MOST_MEMORY = 200 << 20  # bytes of Python objects


def header(name: str, size: int = 0, type: bytes = tarfile.REGTYPE, pax: dict[str, str] | None = None) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.pax_headers = size, type, pax or {}
    return info.tobuf(tarfile.PAX_FORMAT if pax else tarfile.GNU_FORMAT)


def member(name: str, data: bytes) -> bytes:
    return header(name, len(data)) + data + bytes(-len(data) % 512)


def _nest(content: bytes, salt: int) -> bytes:
    return member(f"scale/{salt}.tar.gz", gzip.compress(content + bytes([salt]), 1))


GOOD = member("scale/config.pbtxt", python_model().encode()) + member("scale/1/model.py", IDENTITY.encode())
CASES = {
    "a file of 2^60 bytes": lambda: header("scale/1/model.bin", 1 << 60),
    "a text of 2^60 bytes": lambda: header("scale/1/model.py", 1 << 60) + b"x",
    "an archive of 2^60 bytes": lambda: header("scale/env.tar.gz", 1 << 60) + b"x",
    "a size in a pax record": lambda: header("scale/1/w", pax={"size": str(1 << 62)}),
    "a name of 100 000 parts": lambda: header("a/" * 100_000 + "b"),
    "2 000 paths of 1 000 parts": lambda: b"".join(header(f"{number}/" + "a/" * 1000) for number in range(2000)),
    "500 names of a megabyte": lambda: header("a" * 1_000_000) * 500,
    "names for names": lambda: header("a" * 400)[:1024] * 200_000,
    "records for records": lambda: header("a", pax={"a": "b"})[:1024] * 200_000,
    "a record of no length": lambda: (
        header("w", (1 << 20) - 512, tarfile.XHDTYPE) + b"0 a=b\n" + b"x" * ((1 << 20) - 518)
    ),
    "a hundred thousand members": lambda: header("scale/1/f") * (MOST_ENTRIES + 1),
    "50 000 empty folders": lambda: b"".join(header(f"m{number}/", type=tarfile.DIRTYPE) for number in range(50_000)),
    "archives in the archive": lambda: b"".join(_nest(header("lib/f") * 20_000, number) for number in range(9)),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_by_check_and_by_the_endpoint(name: str, tmp_path: Path) -> None:
    """Otherwise a file of some bytes takes all memory, or minutes."""
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(GOOD + CASES[name](), 1))
    rules = {fault.rule for fault in check([path]).faults}
    assert rules & {"archive-bomb", "archive-truncated", "repository-too-large", "sagemaker-unsafe-member"}
    if not name.startswith(("50 000", "archives", "a hundred")):  # which can be unpacked, or take long
        with pytest.raises(ExtractionError):
            extract(path, tmp_path / "unpacked", lambda _: None)


@pytest.mark.parametrize("name", ["a name of 100 000 parts", "2 000 paths of 1 000 parts", "500 names of a megabyte"])
def test_it_takes_little_memory(name: str, tmp_path: Path) -> None:
    """Otherwise a path of some hundred bytes takes six gigabytes."""
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(GOOD + CASES[name](), 1))
    tracemalloc.start()
    check([path])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < _MOST_MEMORY


@pytest.mark.parametrize("form", ["gnu", "posix --sparse-version=0.0", "posix --sparse-version=1.0"])
def test_sparse_files_are_refused_by_name(form: str, tmp_path: Path) -> None:
    """Otherwise what `tar --sparse` packs is read wrongly, or as damaged."""
    with (tmp_path / "weights.txt").open("wb") as file:
        file.truncate(1 << 40)
    archive = tmp_path / "a.tar.gz"
    command = ["tar", "-C", tmp_path, *f"--format={form}".split(), "--sparse", "-czf", archive, "weights.txt"]
    subprocess.run(command, check=True)
    (problem,) = read_archive(archive).problems
    refusal = "'weights.txt' is stored without its holes: pack it without tar -S"
    assert (problem.rule, problem.message) == ("archive-unreadable", refusal)
    with pytest.raises(ExtractionError, match=refusal):
        extract(archive, tmp_path / "unpacked", lambda _: None)


def test_every_format_of_tar_is_read_as_python_reads_it(tmp_path: Path) -> None:
    """Otherwise the checker sees other names, sizes or links than the one who unpacks."""
    (tmp_path / "tree" / ("d" * 90) / ("e" * 90)).mkdir(parents=True)
    (tmp_path / "tree" / ("d" * 90) / ("e" * 90) / "f").write_text("content")
    (tmp_path / "tree" / "grüße.txt").write_text("hello")
    (tmp_path / "tree" / "link").symlink_to("k" * 150)
    for style in ("gnu", "oldgnu", "posix", "ustar", "v7"):
        archive = tmp_path / f"{style}.tar.gz"
        command = ["tar", "-C", tmp_path / "tree", f"--format={style}", "-czf", archive, "."]
        subprocess.run(command, check=False, capture_output=True)  # some formats leave out long names
        with tarfile.open(archive) as theirs, archive.open("rb") as file:
            expected = [
                (item.name, b"0" if item.isreg() else item.type, item.size, item.mode, int(item.mtime), item.linkname)
                for item in theirs
            ]
            budget = Budget()
            ours = TarStream(GzipStream(file, budget), budget)
            found = [(item.name, item.type, item.size, item.mode, item.mtime, item.target) for item in ours]
        assert found == expected


def test_what_never_ends_in_a_folder_is_not_read(tmp_path: Path) -> None:
    """Otherwise `check` waits for a pipe, or reads /dev/zero until memory is full."""
    write_files(tmp_path, {"scale/config.pbtxt": python_model(), "scale/1/model.py": IDENTITY})
    for number, name in enumerate(("labels.txt", "env.tar.gz", "1/more.py")):
        os.mkfifo(tmp_path / "scale" / name)
        (tmp_path / "scale" / f"{number}{Path(name).name}").symlink_to("/dev/zero")
    (tmp_path / "scale" / "again").symlink_to("again")
    assert not check([tmp_path]).errors
    (tmp_path / "scale" / "1" / "model.py").unlink()
    (tmp_path / "scale" / "1" / "model.py").symlink_to("/dev/zero")
    assert [fault.rule for fault in check([tmp_path]).faults] == ["model-file-broken"]
    archives = tmp_path / "archives"
    archives.mkdir()
    os.mkfifo(archives / "a.tar.gz")
    assert [fault.rule for fault in check([archives / "a.tar.gz"]).faults] == ["archive-unreadable"]


def test_a_folder_of_more_files_than_the_limit_is_a_line(tmp_path: Path) -> None:
    """Otherwise `check` of a home folder never ends."""
    write_files(tmp_path / "models" / "scale", {"config.pbtxt": python_model(), "1/model.py": IDENTITY})
    write_files(tmp_path / "weights", {str(number): "" for number in range(1000)})
    for number in range(MOST_ENTRIES // 1000):
        (tmp_path / "models" / "scale" / "1" / f"link{number}").symlink_to(tmp_path / "weights")
    assert [fault.rule for fault in check([tmp_path / "models"]).faults] == ["repository-too-large"]


@pytest.mark.parametrize("style", FORMATS)
def test_names_are_printed_escaped_in_every_format(style: str, tmp_path: Path) -> None:
    """Otherwise a name colors the terminal, ends a line of a log, or makes output that is not UTF-8."""
    path = tmp_path / "a.tar.gz"
    name = "st\x1b[31mep\n::error::\u202e\udcff/config.pbtxt"
    path.write_bytes(gzip.compress(member(name, b"backend: 'python' junk\x1b[31m"), 1))
    text = printed(style, check([path]), 0.0)
    text.encode()
    shown = json.dumps(json.loads(text), ensure_ascii=False) if style == "json" else text
    assert not set("\x1b\u202e") & set(shown)
    assert not [line for line in text.splitlines() if line.startswith("::error::\\")]
