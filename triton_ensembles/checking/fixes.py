"""``check --fix``: the exact cures of faults, which the rules give as edits, made in the files of a repository.

Each fix is proven before a file is touched: with it, the rules no longer find its fault, and find nothing wrong with
what it wrote.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from triton_ensembles.archive.tree import Entry, Kind, join
from triton_ensembles.checking.fault import Edit, Fault, Severity, with_edits
from triton_ensembles.checking.repository import Repository
from triton_ensembles.checking.text.tokens import Lines
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.rewriting import replace_all, unified_diff

Check = Callable[[Sequence[Repository]], Iterable[Fault]]
_Place = tuple[int, str]  # the number of a repository, and a path in it
_OF_TEXT = "config-"  # the rules of rules/config/text.py
_MOST_ALONE = 50  # fixes that are tried one by one


@dataclass(frozen=True)
class Fixes:
    """The ``faults`` that can be fixed together, and what becomes of their files."""

    faults: tuple[Fault, ...]
    files: tuple["FixedFile", ...]

    @property
    def diff(self) -> str:
        return "".join(file.diff for file in self.files)

    def write(self) -> None:
        """Replace all the files, or none. Raises :class:`EnsembleError`: one of them has changed since it was read, or
        may not be written, or is a link."""
        for file in self.files:
            file.refuse_unwritable()
        replace_all({file.path: file.after for file in self.files if not file.is_new})
        for file in self.files:
            if file.is_new:
                file.path.parent.mkdir(exist_ok=True)
                file.path.touch()


@dataclass(frozen=True)
class FixedFile:
    """A file of a repository at ``root``, with its text before and after; a new one is empty, in a new folder."""

    root: Path
    path: Path
    before: str
    after: str
    is_new: bool = False

    @property
    def diff(self) -> str:
        if self.is_new:  # as git prints it: an empty file has no lines
            return f"diff --git {shown(self.path)} {shown(self.path)}\nnew file mode 100644\n"
        return unified_diff(self.path, self.before, self.after)

    def refuse_unwritable(self) -> None:
        cure = "nothing was written; change its rights, or correct it by hand"
        folder = self.path.parents[1] if self.is_new else self.path.parent
        if self.path.resolve() != self.root.resolve() / self.path.relative_to(self.root):
            raise EnsembleError("this is a link, or in a folder that is one", path=self.path, cure=cure)
        if self.path.parent.exists() if self.is_new else self.path.read_bytes() != self.before.encode():
            cure = "nothing was written; run check once more"
            raise EnsembleError("this file has changed since it was checked", path=self.path, cure=cure)
        written = folder if self.is_new else self.path
        writable = written.stat().st_mode & 0o222 and os.access(written, os.W_OK)  # root may write anything
        if not writable or not os.access(folder, os.W_OK):
            raise EnsembleError("this file is read-only", path=self.path, cure=cure)


def exact_fixes(repositories: Sequence[Repository], faults: Iterable[Fault], check: Check) -> Fixes:
    """The fixes of ``faults`` that do not touch each other, as ``check`` proves them; archives are left alone.

    Two fixes of one place, or of which only one comes true (two names that become the same), are not both made: the
    first in the order of the faults is.
    """
    texts = {(number, entry.path): entry for number, entry in _texts(repositories)}
    places = {f"{repositories[number].shown}/{path}": (number, path) for number, path in texts}
    faults = list(faults)
    fixable = [fault for fault in faults if fault.edits and fault.place.path in places]
    trial = _Trial(repositories, texts, places, check)
    text = trial.most([fault for fault in fixable if fault.rule.startswith(_OF_TEXT)], ())
    chosen = trial.most([fault for fault in fixable if not fault.rule.startswith(_OF_TEXT)], text)
    chosen = trial.most([fault for fault in faults if fault.makes and trial.made_by(fault)], chosen)
    files = [
        FixedFile(repositories[number].path, repositories[number].path / path, texts[number, path].text or "", text)
        for (number, path), text in trial.edited(chosen).items()
    ]
    for number, path in filter(None, map(trial.made_by, chosen)):
        files.append(FixedFile(repositories[number].path, repositories[number].path / path, "", "", is_new=True))
    return Fixes(tuple(chosen), tuple(files))


@dataclass(frozen=True)
class _Trial:
    """Repositories as they would be with fixes; ``places`` are the keys of ``texts``, by the paths of faults."""

    repositories: Sequence[Repository]
    texts: Mapping[_Place, Entry]
    places: Mapping[str, _Place]
    check: Check

    def most(self, fixable: Sequence[Fault], made: Sequence[Fault]) -> list[Fault]:
        """``made``, and those of ``fixable`` that can be made with it: all, or else one after the other."""
        if not fixable or self._holds(made, fixable):
            return [*made, *fixable]
        chosen: list[Fault] = []
        for fault in fixable[:_MOST_ALONE]:
            chosen += [fault] if self._holds(made, [*chosen, fault]) else []
        return [*made, *chosen]

    def _holds(self, made: Sequence[Fault], fixes: Sequence[Fault]) -> bool:
        """Return whether ``fixes`` come true after ``made``. A file that can be read, and a model that has its backend,
        may show faults that nobody could see before; a new one of the text, of what is there twice, or at the very
        words that a fix wrote is its own."""
        edits = self._edits([*made, *fixes])
        if any(_touch(of_file) for of_file in edits.values()):
            return False
        before, after = self._faults(made), self._faults([*made, *fixes])
        written = {(path, *place) for path, texts in self._written(edits) for place in texts}
        if any((fault.place.path, fault.place.line, fault.place.column) in written for fault in after):
            return False
        counts = (Counter((fault.rule, fault.place.path) for fault in faults) for faults in (before, after))
        old, new = counts
        gone = Counter((fault.rule, fault.place.path) for fault in fixes)
        return all(
            count <= old[kind] - gone[kind]
            for kind, count in new.items()
            if kind in gone or kind[0].startswith(_OF_TEXT) or "twice" in kind[0]
        )

    def _written(self, edits: Mapping[_Place, list[Edit]]) -> Iterator[tuple[str, list[tuple[int, int]]]]:
        """Yield for each file where the words of the fixes begin afterwards, as lines and columns."""
        shown = {place: path for path, place in self.places.items()}
        for place, of_file in edits.items():
            lines, shift, starts = Lines(with_edits(self.texts[place].text or "", of_file)), 0, []
            for edit in sorted(of_file):
                starts += [lines.at(edit.start + shift)] if edit.text else []
                shift += len(edit.text) - (edit.end - edit.start)
            yield shown[place], starts

    def edited(self, fixes: Sequence[Fault]) -> dict[_Place, str]:
        edits = self._edits(fixes).items()
        return {place: with_edits(self.texts[place].text or "", of_file) for place, of_file in edits}

    def _edits(self, fixes: Sequence[Fault]) -> dict[_Place, list[Edit]]:
        edits: dict[_Place, list[Edit]] = defaultdict(list)
        for fault in fixes:
            if fault.edits:
                edits[self.places[fault.place.path]] += fault.edits
        return edits

    def made_by(self, fault: Fault) -> _Place | None:
        """The file that a fix makes, if it makes one, and in no archive."""
        for number, repository in enumerate(self.repositories if fault.makes else ()):
            for model in () if repository.is_archive else repository.models_read:
                if model.shown == fault.place.path:
                    return number, join(model.root, fault.makes)
        return None

    def _faults(self, fixes: Sequence[Fault]) -> list[Fault]:
        new = dict.fromkeys(filter(None, map(self.made_by, fixes)), "")
        faults = self.check(_with_texts(self.repositories, self.edited(fixes) | new))
        return [fault for fault in faults if fault.severity is not Severity.NOTE]


def _texts(repositories: Sequence[Repository]) -> Iterator[tuple[int, Entry]]:
    for number, repository in enumerate(repositories):
        for entry in () if repository.is_archive else repository.tree.entries.values():
            if (
                entry.data is not None
                and entry.kind in (Kind.FILE, Kind.SYMLINK)
                and "\ufffd" not in (entry.text or "")
            ):
                yield number, entry


def _touch(edits: Iterable[Edit]) -> bool:
    """Return whether two of the edits are about the same place."""
    ordered = sorted(edits)
    return any(edit.end > following.start or edit.start == following.start for edit, following in pairwise(ordered))


def _with_texts(repositories: Sequence[Repository], new: Mapping[_Place, str]) -> list[Repository]:
    changed = list(repositories)
    for number in {number for number, _ in new}:
        changed[number] = changed[number].with_texts({path: text for (of, path), text in new.items() if of == number})
    return changed
