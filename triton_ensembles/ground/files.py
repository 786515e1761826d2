"""Atomic writes, digests of files and values, and locks between processes."""

import csv
import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.ground.system_errors import naming

# Of a dotted key, tomllib keeps each beginning as a tuple of its own: of 100 000 parts these are gigabytes.
_LONG_KEY = re.compile(r"(?<![\w-])(?:[\w-]+[\"']?[ \t]*\.[ \t]*[\"']?){100}")


_LONGEST_JSON = 8 << 20  # bytes
_MOST_VALUES = (1_000_000, 1_000_000, 8_000_000)  # lists, objects, and commas: a list takes 30 times its text


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Yield a hidden path beside ``path`` to write to; it replaces ``path`` when the block ends.

    After an error ``path`` is unchanged and the hidden path is removed. A folder may be written, too, if ``path`` is
    not a folder yet.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with naming(path):
            yield partial
            partial.replace(path)
    finally:
        remove(partial)


def write_file(path: Path, content: str | bytes) -> None:
    """Write the file as a whole or not at all; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_whole(path) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)


def remove_partials(path: Path) -> None:
    """Remove what killed processes left in :func:`write_whole` of ``path``. The caller has the lock of all writers."""
    for partial in path.parent.glob(f".{path.name}.*.partial"):
        remove(partial)


def remove_abandoned(partials: Iterable[Path]) -> None:
    """Remove those of ``.NAME.PROCESS.partial`` whose process has ended, as :func:`write_whole` leaves them."""
    for path in partials:
        process = path.name.removesuffix(".partial").rpartition(".")[2]
        if process.isdecimal() and not Path("/proc", process).exists():
            remove(path)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with all that is in it, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def locked(
    path: Path, waiting: Progress = lambda _: None, *, shared: bool = False, others: str = "another process"
) -> Iterator[None]:
    """Hold an advisory lock, which the kernel releases when this process ends, however it ends.

    Args:
        waiting: called with a line if ``others`` keep this process from having the lock; it may raise.
        shared: whether any number of processes may have it that share it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    with path.open("wb") as lock:
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting(f"waiting for {others}, by the lock {path}")
            fcntl.flock(lock, kind)
        yield


def file_digest(path: Path) -> str:
    """sha256 of a file's content, in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def content_digest(path: Path) -> str:
    """:func:`file_digest` of a file; of a folder the sha256 of the names, contents and executable bits of its files."""
    if not path.is_dir():
        return file_digest(path)
    return digest({name: [os.access(file, os.X_OK), file_digest(file)] for name, file in files_in(path).items()})


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    return sum(file.stat().st_size for file in (files_in(path).values() if path.is_dir() else [path]))


def files_in(folder: Path) -> dict[str, Path]:
    """Every file below ``folder`` by its path in it, in alphabetical order."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def read_text(path: Path, most: int) -> str:
    """The text of a file that people write.

    Args:
        most: bytes.

    Raises:
        EnsembleError: it is longer, not a file, not UTF-8, or cannot be read.
    """
    try:
        return read_bytes(path, most).decode("utf-8")
    except OSError as error:
        raise EnsembleError(f"this file cannot be read: {error.strerror}", path=path) from error
    except UnicodeDecodeError as error:
        raise EnsembleError("this is not a text file in UTF-8", path=path, cure="save it as UTF-8") from error
    except ValueError as error:
        raise EnsembleError(str(error), path=path, cure="shorten it" if path.is_file() else "") from error


def read_bytes(path: Path, most: int) -> bytes:
    """The content of a file.

    Args:
        most: bytes. Nothing ever comes from a pipe, and some files never end.

    Raises:
        OSError: it cannot be read.
        ValueError: it is longer, or not a file.
    """
    if path.exists() and not path.is_file():
        raise ValueError("this is not a file")
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(
            f"this file is longer than {most >> 20} MiB" if most >> 20 else f"this file is longer than {most >> 10} KiB"
        )
    return content


def read_json(path: Path, most: int = _LONGEST_JSON) -> Any:
    """The value of a JSON file. Raises as :func:`read_bytes` and :func:`parse_json`."""
    return parse_json(read_bytes(path, most))


def parse_json(content: str | bytes) -> Any:
    """The value of a JSON document.

    Raises:
        ValueError: it is none, is nested too deeply, or has so many values that they would fill the memory.
    """
    marks = (content.count(mark if isinstance(content, str) else mark.encode()) for mark in ("[", "{", ","))  # type: ignore[arg-type]
    if any(count > most for count, most in zip(marks, _MOST_VALUES, strict=True)):
        raise ValueError("it has too many values")
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """The value of a TOML document; ``path`` is for messages only.

    Raises:
        EnsembleError: it is not TOML, or cannot be read in a moment.
    """
    if match := _LONG_KEY.search(text):
        line = text.count("\n", 0, match.start()) + 1
        raise EnsembleError("a key of this TOML has more than 100 parts", path=path, line=line, cure="correct the key")
    import tomllib  # most commands read none

    try:
        return tomllib.loads(text.removeprefix("\ufeff"))  # which editors on Windows write
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+)", str(error))
        line = int(place[1]) if place else text.count("\n") + 1
        raise EnsembleError(f"this is not TOML: {error}", path=path, line=line) from error
    except RecursionError:
        raise EnsembleError("this TOML is nested too deeply", path=path) from None
    except ValueError as error:  # a number of thousands of digits
        raise EnsembleError(f"this TOML cannot be read: {error}", path=path) from error


def table_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table of this package: CSV, with lines of comments that begin with #."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def digest(value: Any) -> str:
    """sha256 of a JSON-serializable value, in hexadecimal digits; the order of keys does not matter."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()
