"""What the pinned server said about models, on file: about the same bytes it says the same every time.

``make test`` reads verdicts.json and asks the server only about models that are not there. With ``VERDICTS=ask``
(``make test-rest``) the server is asked about every model, and a verdict on file that it no longer gives is a failure;
with ``VERDICTS=share`` (.ci/run) about a quarter of them, another one each day.
``make verdicts`` (``VERDICTS=add``) asks about the models that are not there and writes them down, without those that
no table has any more; where the file is not there, about every model.
"""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import triton_ensembles.runtime.backends
from checkout import ROOT, TRITON_HOME
from triton_ensembles.server import home

FILE = Path(__file__).with_name("verdicts.json")
MODE = os.environ.get("VERDICTS", "read")  # or "ask", "share", "add"
_SHARE = 4  # days in which the server is asked about every model
_LARGEST_TEXT = 100_000  # bytes of a file that may name other models
_ENGINE = re.compile(rb"onnx|dali|openvino|torch|tensorflow|graphdef")
_TIME_AND_PROCESS = re.compile(r"\b([EWI])\d{4} [\d:.]+ \d+ ")
_written: dict[str, Any] = {}


@cache
def judge() -> str:
    """Who gave the verdicts: the pinned server. Under every Python that it runs with, they are the same."""
    return _digest(Path(home.__file__).with_name("requirements"))


@cache
def _engines() -> bytes:
    """The backends of this package, which the server runs for some models."""
    return _digest(Path(triton_ensembles.runtime.backends.__file__).parent).encode()


@cache
def _on_file() -> dict[str, Any]:
    data = json.loads(FILE.read_text()) if FILE.exists() else {}
    return dict(data["verdicts"]) if data.get("judge") == judge() else {}


def known(digest: str) -> dict[str, Any] | None:
    """The verdict on file about the model of this digest: ``loaded`` and ``words``."""
    verdict = _on_file().get(digest)
    if verdict and MODE == "add":
        _written[digest] = verdict
    return verdict


def is_asked(digest: str) -> bool:
    """Tell whether the server is asked about a model although it may be on file."""
    if MODE == "share":
        return int(digest, 16) % _SHARE == datetime.now(UTC).toordinal() % _SHARE
    return MODE == "ask"


def note(digest: str, name: str, loaded: bool, words: str, folder: Path) -> None:
    """Compare a verdict of the server with the file, or keep it for the file."""
    if MODE in ("ask", "share"):
        before = known(digest)
        assert before, f"the verdict about {name} is not on file: run make verdicts"
        assert before["loaded"] == loaded, f"the server says otherwise about {name}: {words}"
    elif MODE == "add":
        _written[digest] = {"name": name, "loaded": loaded, "words": _anywhere(words, folder)}


def _anywhere(words: str, folder: Path) -> str:
    """``words`` without the time, without the folders of this machine, and without what the log only repeats."""
    for place in (str(folder), str(ROOT), sys.base_prefix, str(TRITON_HOME.resolve()), str(TRITON_HOME)):
        words = words.replace(place, "…")
    lines = _TIME_AND_PROCESS.sub(r"\1 ", words).split("\n")
    if lines[0].startswith("load failed"):  # with the reason
        log = (number for number, line in enumerate(lines) if line.startswith(("I ", "E ", "W ")))
        lines = lines[: next(log, len(lines))]
    return "\n".join(line for line in lines if not line.startswith("I ")).strip()


def write() -> None:
    """All verdicts that were noted, sorted, so that a changed example is a change of its own lines."""
    if _written:
        verdicts = dict(sorted(_written.items(), key=lambda item: (item[1]["name"], item[0])))
        FILE.write_text(json.dumps({"judge": judge(), "verdicts": verdicts}, indent=1, ensure_ascii=False) + "\n")


def digest_of(repository: Path, name: str, completes: bool) -> str:
    """Of a model's files, and of those of all models of ``repository`` that it names."""
    content = hashlib.sha256(f"{name} {completes}".encode())
    others = set(os.listdir(os.fsencode(repository))) - {name.encode()}  # noqa: PTH208 - thousands, for thousands
    waiting = [name]
    while waiting:
        folder = repository / waiting.pop()
        _add(content, folder)
        texts = [path.read_bytes() for path in _files(folder) if path.stat().st_size <= _LARGEST_TEXT]
        if any(_ENGINE.search(text) for text in texts):
            content.update(_engines())
        whole = b"\0".join(texts)
        named = sorted(model for model in others if model in whole)
        others.difference_update(named)
        waiting += map(os.fsdecode, named)
    return content.hexdigest()[:32]


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)


def _digest(folder: Path) -> str:
    content = hashlib.sha256()
    _add(content, folder)
    return content.hexdigest()[:32]


def _add(content: "hashlib._Hash", folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if "__pycache__" not in path.parts:
            data = path.read_bytes() if path.is_file() else b""
            head = f"\0{path.relative_to(folder.parent)}\0{path.is_file()}\0{len(data)}\0"
            content.update(head.encode("utf-8", "surrogateescape") + data)
