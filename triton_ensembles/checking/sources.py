"""The texts that faults point into, by the paths that people see."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from triton_ensembles.archive.tree import Entry
from triton_ensembles.checking.extensions import source_forms
from triton_ensembles.checking.fault import Place
from triton_ensembles.checking.repository import Repository
from triton_ensembles.checking.source_budget import PythonBudget
from triton_ensembles.checking.suppression.comments import MARK, Suppression, suppressions
from triton_ensembles.triton.model_config import CONFIG

_ENVIRONMENT = "/lib/python"  # packages of others


class Sources:
    """The small texts of ``repositories``, which were read already."""

    def __init__(self, repositories: Sequence[Repository]) -> None:
        self._repositories = repositories
        self._lines: dict[str, list[str]] = {}

    def line(self, place: Place) -> str:
        """The line of ``place``, without the blanks around it; "" when it is about the file as a whole."""
        if not place.line or (place.line == 1 and not place.column):
            return ""
        if place.path not in self._lines:
            entry = self._entries.get(place.path)
            self._lines[place.path] = ((entry.text if entry else None) or "").split("\n")
        lines = self._lines[place.path]
        return lines[place.line - 1].strip() if place.line <= len(lines) else ""

    def commented(self) -> Iterator[tuple[str, str]]:
        """Path and text of each file whose comments may accept faults; of Python, as much as rules read of it."""
        budget, names = PythonBudget(), {CONFIG, *(form.recipe for form in source_forms())}
        for path, entry in self._entries.items():
            name = entry.path.rpartition("/")[2]
            is_python = name.endswith(".py") and _ENVIRONMENT not in path
            if not (is_python or name in names) or not entry.data or MARK.encode() not in entry.data:
                continue
            if not is_python or budget.may_parse(entry.data):
                yield path, entry.text or ""

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        return {
            # The files of a model that is given on its own are shown below it, also in an archive.
            f"{repository.shown}/{entry.path}" if repository.is_one_model else repository.place(entry.path).path: entry
            for repository in self._repositories
            for entry in repository.tree.entries.values()
            if entry.data is not None
        }


def suppressions_of(repository: Repository) -> tuple[Suppression, ...]:
    """Every comment of the repository that accepts faults, or tries to."""
    texts = Sources([repository]).commented()
    comments = (comment for path, text in texts for comment in suppressions(path, text))
    return repository.once("suppressions", lambda: tuple(comments))
