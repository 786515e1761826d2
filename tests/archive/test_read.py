"""Archives and folders that are damaged, or made to keep a reader busy: each is refused by a line, in little memory."""

import gzip
import json
import os
import random
import subprocess
import tarfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.files import write_files
from triton_ensembles.archive.budget import MOST_ENTRIES, Budget
from triton_ensembles.archive.gzip_stream import GzipStream
from triton_ensembles.archive.tar import read_archive
from triton_ensembles.archive.tar_stream import TarStream
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.formats import FORMATS, printed
from triton_ensembles.sagemaker.extraction import ExtractionError, extract


def header(name: str, size: int = 0, type: bytes = tarfile.REGTYPE, pax: dict[str, str] | None = None) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.pax_headers = size, type, pax or {}
    return info.tobuf(tarfile.PAX_FORMAT if pax else tarfile.GNU_FORMAT)


def member(name: str, data: bytes) -> bytes:
    return header(name, len(data)) + data + bytes(-len(data) % 512)


GOOD = member("scale/config.pbtxt", python_model().encode()) + member("scale/1/model.py", IDENTITY.encode())
PACKED = gzip.compress(GOOD + bytes(1024), 1)
CASES = {
    "a file of 2^60 bytes": lambda: header("scale/1/model.bin", 1 << 60),
    "a text of 2^60 bytes": lambda: header("scale/1/model.py", 1 << 60) + b"x",
    "an archive of 2^60 bytes": lambda: header("scale/env.tar.gz", 1 << 60) + b"x",
    "300 MiB of zeros": lambda: header("scale/1/weights", 300 << 20) + bytes(300 << 20),
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
    "archives in the archive": lambda: b"".join(
        member(f"scale/{number}.tar.gz", gzip.compress(header("lib/f") * 20_000 + bytes([number]), 1))
        for number in range(9)
    ),
}


LARGE = ("a hundred", "records", "archives", "50 000")
LARGE_ARE_SLOW = [pytest.param(name, marks=pytest.mark.slow) if name.startswith(LARGE) else name for name in CASES]


@pytest.mark.parametrize("name", LARGE_ARE_SLOW)
def test_it_is_refused_by_check_and_by_the_endpoint(name: str, tmp_path: Path) -> None:
    """Otherwise a file of some bytes takes all memory, or minutes."""
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(GOOD + CASES[name](), 1))
    if not name.startswith(("50 000", "archives", "a hundred", "names", "records")):  # which it would slow down
        tracemalloc.start()
    rules = {fault.rule for fault in check([path]).faults}
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rules & {"archive-bomb", "archive-truncated", "repository-too-large", "sagemaker-unsafe-member"}
    assert peak < 200 << 20
    if not name.startswith(("50 000", "archives", "a hundred")):  # which can be unpacked, or take long
        with pytest.raises(ExtractionError):
            extract(path, tmp_path / "unpacked", lambda _: None)


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "archive-unreadable"),
        (b"no gzip!\n", "archive-unreadable"),
        (b"\x7fELF" + bytes(range(256)) * 40, "archive-unreadable"),
        (gzip.compress(b"no tar at all" * 100), "archive-unreadable"),
        (PACKED[: len(PACKED) // 2], "archive-truncated"),
        (PACKED[:-9] + bytes(9), "archive-truncated"),
        (gzip.compress(GOOD[:700]), "archive-truncated"),
    ],
    ids=["empty", "nine bytes", "binary", "gzip without tar", "half", "bad checksum", "half a tar"],
)
def test_a_broken_archive_is_a_fault(tmp_path: Path, data: bytes, rule: str) -> None:
    """Otherwise an archive that SageMaker cannot unpack passes."""
    path = tmp_path / "a.tar.gz"
    path.write_bytes(data)
    assert [problem.rule for problem in read_archive(path).problems] == [rule]
    assert rule in {fault.rule for fault in check([path]).faults}


def test_the_part_before_the_damage_is_checked(tmp_path: Path) -> None:
    """Otherwise a truncated archive hides the faults of what it still has."""
    weights = member("scale/1/weights", random.Random(0).randbytes(300_000))
    data = gzip.compress(member("scale/config.pbtxt", b"max_batch_size: -1\n") + weights)
    (tmp_path / "a.tar.gz").write_bytes(data[:200_000])
    found = {fault.rule for fault in check([tmp_path / "a.tar.gz"]).faults}
    assert {"archive-truncated", "max-batch-size-negative"} <= found


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=200), st.integers(0, 3000), st.booleans())
def test_damage_anywhere_is_a_fault_and_no_crash(tmp_path: Path, junk: bytes, at: int, inside: bool) -> None:
    """Otherwise a damaged archive crashes the checker instead of being reported."""
    plain = gzip.decompress(PACKED)
    data = gzip.compress(plain[:at] + junk + plain[at + len(junk) :]) if inside else PACKED[:at] + junk + PACKED[at:]
    path = tmp_path / "a.tar.gz"
    path.write_bytes(data)
    for fault in check([path]).faults:
        assert not fault.message.startswith("this rule itself failed"), fault


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
    write_files(tmp_path / "tree", {f"{'d' * 90}/{'e' * 90}/f": "content", "grüße.txt": "hello"})
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
    os.mkfifo(tmp_path / "a.tar.gz")
    assert [fault.rule for fault in check([tmp_path / "a.tar.gz"]).faults] == ["archive-unreadable"]


@pytest.mark.slow
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
