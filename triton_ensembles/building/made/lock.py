"""The exact packages of a build, in a file below the recipe: the same input gives the same bytes next year.

``ensembles/NAME/locks/ENVIRONMENT-python3.11.lock`` begins with the requirements, as comments, and has a line for each
package, those that others require included: its version and the sha256 of the file (of conda's packages the build). It
is renewed when something else is requested; ``--locked`` refuses to.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from triton_ensembles.artifacts.environment.pins import Pins
from triton_ensembles.building.made.store import Entry, Store
from triton_ensembles.building.planned.plan import BuildPlan
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.files import digest, read_text, write_file
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.places import LOCKS, LONGEST_LOCK

_TITLE = "# The packages that build.py installs, which writes this file. To renew it, delete it and build. Asked for:"
_ASKED = "#   "
Make = Callable[[Path, list[Pins]], dict[str, Any]]


class Lock:
    """The lock of one set of packages of a plan. Raises :class:`EnsembleError`: locks may not change, and it is missing
    or made for something else. ``check`` refuses one that is damaged."""

    def __init__(self, plan: BuildPlan, name: str, python: str, requirements: Sequence[str]) -> None:
        self.path = plan.folder / LOCKS / f"{name}-python{python}.lock"
        makes = f"for this build only: `{COMMAND} new {plan.name} --from"
        self._advice = f"{makes} {shown(plan.origin)}` makes a project that keeps it" if plan.origin else "commit it"
        self._asked = tuple(requirements)
        lines = read_text(self.path, LONGEST_LOCK).splitlines() if self.path.exists() else []
        was = tuple(line.removeprefix(_ASKED) for line in lines if line.startswith(_ASKED))
        fits = bool(lines) and was == self._asked
        self._renewed = bool(lines) and not fits
        self.lines = tuple(line for line in lines if line and not line.startswith("#")) if fits else ()
        if plan.locked and not fits and requirements:
            wrong = "was made for other packages than are asked for now" if lines else "is missing"
            cure = "build without --locked, and commit the lock that it writes"
            raise EnsembleError(f"this lock {wrong}", path=self.path, cure=cure)

    def write(self, packages: Sequence[str], progress: Progress) -> None:
        """Note what was found, unless that is what the lock already says."""
        if self.lines or not packages:
            return
        self.lines = tuple(sorted(set(packages)))
        text = [_TITLE, *(f"{_ASKED}{requirement}" for requirement in self._asked), *self.lines]
        write_file(self.path, "\n".join(text) + "\n")
        why = "renewed, because something else is asked for" if self._renewed else "written"
        count = "one package" if len(self.lines) == 1 else f"{len(self.lines)} packages"
        progress(f"the lock {self.path.name} is {why}: {count}; {self._advice}")


def locked_entry(
    store: Store, name: str, origin: dict[str, Any], locks: Sequence[Lock], make: Make, progress: Progress
) -> Entry:
    """Return what ``make(path, pins) -> facts`` makes of ``origin`` and the locks, which are written if they are
    new."""

    def make_and_note(output: Path) -> dict[str, Any]:
        pins = [Pins(lock.lines, source=lock.path) for lock in locks]
        facts = make(output, pins)
        return facts | {"lock": [noted.found for noted in pins]}

    key = digest(origin | {"lock": [lock.lines for lock in locks]})
    entry = store.get_or_make(key, name, make_and_note)[0]
    for lock, packages in zip(locks, entry.facts.pop("lock"), strict=True):
        lock.write(packages, progress)
    return entry
