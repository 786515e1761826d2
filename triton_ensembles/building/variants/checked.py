"""Findings of ``check`` in a clone, before it is written: rules see the very entries that its archive will have."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from triton_ensembles.archive.clone_texts import Changes
from triton_ensembles.archive.clones import Original
from triton_ensembles.archive.tree import Entry, Kind, Tree, is_text
from triton_ensembles.building.variants.fused_steps import steps_of
from triton_ensembles.building.variants.own_files import reading
from triton_ensembles.checking.built_for import manifest
from triton_ensembles.checking.check_report import Report
from triton_ensembles.checking.checker import report_on
from triton_ensembles.checking.fault import Fault, Severity
from triton_ensembles.checking.formats.text import error_lines
from triton_ensembles.checking.model_files.read import FileReader
from triton_ensembles.checking.repository import Form, Repository
from triton_ensembles.checking.repository_search import find_repositories
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.targets import CPU

_MOST_SEEN = 16
_FACTS = ("target", "instance", "image")  # of the manifest: what the archive was built for

# What rules can know of a variant that they do not know of the others: of each file of its own how long it is, and what
# it says (its text, or the tensors and operators of a model file), and its parameters.
_Visible = tuple[Mapping[str, Entry], Mapping[str, Mapping[str, str]], frozenset[str]]

_Error = tuple[str, str, int, str]


@dataclass
class Checks:
    """Checks the variants of one archive, which itself has no errors. One that shows the rules just what an earlier one
    showed (of weights, their size and header) has its faults: a thousand networks of one architecture are looked at
    once. Their names do not matter, because none has a letter that any rule is about."""

    original: Original
    base: Repository
    destination: Destination
    accepted: frozenset[_Error]  # of the steps of a fused archive, which has none itself
    _clean: deque[_Visible] = field(default_factory=lambda: deque(maxlen=_MOST_SEEN))

    @classmethod
    def of(cls, original: Original) -> Checks:
        """Raises :class:`EnsembleError` with the errors of the archive, if it has any."""
        (base,) = find_repositories(original.archive)
        target, instance, image = (str(manifest(base).get(key, "")) for key in _FACTS)
        destination = Destination(target, instance, image)
        report = report_on([base], [original.archive], destination)
        if report.errors:
            raise EnsembleError(
                f"{shown(original.archive)} has faults, so no variant was written\n{error_lines(report)}"
            )
        return cls(original, base, destination, frozenset(map(_error, _faults_of_steps(base, destination))))

    def refuse_faults(self, changes: Changes, path: Path) -> None:
        """Raises :class:`EnsembleError` with the errors of the archive that would be at ``path``, if it has any."""
        with reading():
            own = {inner: _entry(inner, file.path, file.size) for inner, file in changes.files.items()}
        visible = (own, changes.parameters, changes.left_out)
        if visible in self._clean:
            return
        repository = self._repository(changes, own, path)
        report = report_on([repository], [path.parent], self.destination)
        if not report.errors:
            found = _faults_of_steps(repository, self.destination)
            report = Report(tuple(fault for fault in found if _error(fault) not in self.accepted), ())
        if report.errors:
            raise EnsembleError(f"check finds faults in it\n{error_lines(report)}")
        self._clean.append(visible)

    def _repository(self, changes: Changes, own: Mapping[str, Entry], path: Path) -> Repository:
        texts = self.original.texts.of(changes)
        paths: dict[str, str] = {}

        def members() -> Iterator[Entry]:
            for entry in self.base.tree.members:
                if entry.path in changes.left_out:
                    continue
                new = self.original.renamed(entry.path, changes.name, is_folder=entry.is_folder)
                paths[new] = entry.path
                member = replace(own.get(entry.path, entry), path=new, written=new, mode=entry.mode)
                if entry.path in texts and entry.data is not None:
                    member = replace(member, data=texts[entry.path], size=len(texts[entry.path]))
                yield member

        def nested(inner: str) -> Tree | None:
            return self.base.tree.nested(paths.get(inner, inner))

        tree = Tree(members(), self.base.tree.problems, nested)
        return Repository(path, shown(path), Form.ARCHIVE, tree)


def _faults_of_steps(archive: Repository, destination: Destination) -> list[Fault]:
    """The errors in the steps of a fused archive, looked at as those of a drawn one."""
    steps = steps_of(archive)
    if steps is None:
        return []
    report = report_on([steps], [archive.path.parent], replace(destination, device=CPU.name))
    return [fault for fault in report.faults if fault.severity is Severity.ERROR]


def _error(fault: Fault) -> _Error:
    """Return what an error is about, whatever the variant is called."""
    return fault.rule, fault.place.path.partition("!")[2], fault.place.line, fault.message


def _entry(inner: str, file: Path, size: int) -> Entry:
    """As the archive's reader would find it; the path is that in the original."""
    if is_text(inner, size):
        return Entry(inner, Kind.FILE, size, inner, data=file.read_bytes())
    with file.open("rb") as content:
        return Entry(inner, Kind.FILE, size, inner, summary=FileReader()(inner, size, content))
