"""A file of known faults, so that only new ones fail: ``check --write-baseline FILE``, then ``check --baseline FILE``.

It has a line for each kind of fault of each file, sorted, and no line numbers: what moves stays known.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton_ensembles.checking.fault import Fault, is_in
from triton_ensembles.checking.fingerprint import Fingerprint, fingerprint
from triton_ensembles.checking.places import FilePlaces
from triton_ensembles.ground.errors import EnsembleError, escaped
from triton_ensembles.ground.files import read_json, write_whole
from triton_ensembles.triton.destination import Destination

_FORMAT = 1
_KIND = "triton-ensembles-baseline"
_HEAD = 4096  # bytes, in which a baseline says what it is
_AGAIN = "write it again: check --write-baseline FILE"


@dataclass(frozen=True, order=True)
class Entry:
    """The faults of one file that look the same. ``path`` is relative to the root of the git repository, and of a
    member ``a.tar.gz!step/config.pbtxt``."""

    path: str
    fingerprint: Fingerprint


@dataclass(frozen=True)
class Baseline:
    """How often each entry is known, and the ``destination`` that it was written for."""

    counts: Mapping[Entry, int]
    destination: Mapping[str, str]

    @classmethod
    def of(cls, faults: Iterable[Fault], places: FilePlaces, destination: Destination) -> "Baseline":
        return cls(Counter(_entry(fault, places) for fault in faults), _words(destination))

    @classmethod
    def read(cls, path: Path) -> "Baseline":
        """Raises :class:`EnsembleError` for a file that is not there, damaged, something else, or of a newer format."""
        try:
            data = read_json(path)
        except FileNotFoundError:
            cure = "write it first: check --write-baseline FILE"
            raise EnsembleError("there is no such baseline", path=path, cure=cure) from None
        except OSError as error:
            raise EnsembleError(f"the baseline cannot be read: {error.strerror}", path=path) from error
        except (ValueError, RecursionError) as error:
            line = error.lineno if isinstance(error, json.JSONDecodeError) else None
            message = "this baseline is damaged: it is not JSON"
            raise EnsembleError(message, path=path, line=line, cure=_AGAIN) from error
        if not isinstance(data, dict) or data.get("kind") != _KIND:
            raise EnsembleError("this is not a baseline of check", path=path, cure=_AGAIN)
        if isinstance(data.get("format"), int) and data["format"] > _FORMAT:
            message = f"this baseline has format {data['format']}, and this version reads format {_FORMAT}"
            raise EnsembleError(message, path=path, cure=f"update triton-ensembles, or {_AGAIN}")
        try:
            return cls(Counter(dict(map(_parsed, data["faults"]))), dict(data["destination"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise EnsembleError("this baseline is damaged", path=path, cure=_AGAIN) from error

    def write(self, path: Path) -> None:
        """Raises :class:`EnsembleError` when ``path`` is a file of another kind, or cannot be written."""
        head = json.dumps({"kind": _KIND, "format": _FORMAT, "destination": self.destination}, ensure_ascii=False)
        rows = (json.dumps(_record(*counted), ensure_ascii=False) for counted in sorted(self.counts.items()))
        try:
            if path.exists() and not _may_replace(path):
                cure = "name another one"
                raise EnsembleError("this file is not a baseline of check, and is kept", path=path, cure=cure)
            with write_whole(path) as partial:
                partial.write_text(f'{head[:-1]}, "faults": [\n' + ",\n".join(rows) + "\n]}\n", encoding="utf-8")
        except OSError as error:
            raise EnsembleError(f"the baseline cannot be written: {error.strerror}", path=path) from error

    def split(self, faults: Iterable[Fault], places: FilePlaces) -> tuple[list[Fault], list[Fault]]:
        """New faults and known ones, in their order. Of more faults than are known, the last are the new ones."""
        unseen = Counter(self.counts)
        new: list[Fault] = []
        known: list[Fault] = []
        for fault in faults:
            entry = _entry(fault, places)
            unseen[entry] -= 1
            (known if unseen[entry] >= 0 else new).append(fault)
        return new, known

    def gone(
        self, faults: Iterable[Fault], places: FilePlaces, roots: Iterable[str], destination: Destination
    ) -> list[Entry]:
        """The entries whose faults are gone, once for each fault: only in the repositories at ``roots``, and only for
        the destination that the baseline was written for, because other rules apply to others."""
        if _words(destination) != self.destination:
            return []
        looked_at = [escaped(places.relative(root)) for root in roots]
        missing = Counter(self.counts) - Counter(_entry(fault, places) for fault in faults)
        whole = "." in looked_at
        return sorted(entry for entry in missing.elements() if whole or any(is_in(entry.path, r) for r in looked_at))


def _may_replace(path: Path) -> bool:
    """Return whether it is a baseline, or has nothing in it."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return not head.strip() or _KIND.encode() in head


def _entry(fault: Fault, places: FilePlaces) -> Entry:
    place = places.of(fault)
    return Entry(escaped(f"{place.path}!{place.member}" if place.member else place.path), fingerprint(fault))


def _record(entry: Entry, count: int) -> dict[str, Any]:
    return {"path": entry.path, **vars(entry.fingerprint), "count": count}


def _parsed(row: dict[str, Any]) -> tuple[Entry, int]:
    texts = (row["path"], row["rule"], row["line"], *row["names"])
    if not all(isinstance(text, str) for text in texts) or type(row["count"]) is not int or row["count"] < 1:
        raise ValueError
    return Entry(row["path"], Fingerprint(row["rule"], row["line"], tuple(row["names"]))), row["count"]


def _words(destination: Destination) -> dict[str, str]:
    words = {name: value for name, value in vars(destination).items() if isinstance(value, str) and value}
    return words | ({"single": "yes"} if destination.single else {})
