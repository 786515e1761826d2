"""The exact packages of a build, in a file beside the recipe: the same input gives the same bytes next year.

``ensembles/NAME/ENVIRONMENT-python3.11.lock`` begins with what was asked for, as comments, and then has a line for each
package, those that others require included: its version and the sha256 of the file (of conda's packages the build). It
names no registry. It is renewed when something else is asked for; ``--locked`` refuses to.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from triton_ensembles.environment.pins import Pins
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import write_whole
from triton_ensembles.progress import Progress

_TITLE = "# The packages that build.py installs, which writes this file. To renew it, delete it and build. Asked for:"
_ASKED = "#   "


class Lock:
    """The lock of one set of packages. ``frozen``: it may not change.

    Raises:
        EnsembleError: it is frozen, and it is missing or was made for something else.
    """

    def __init__(self, folder: Path, name: str, python: str, asked: Sequence[str], *, frozen: bool) -> None:
        self.path = folder / f"{name}-python{python}.lock"
        self._asked = tuple(asked)
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.is_file() else []
        was = tuple(line.removeprefix(_ASKED) for line in lines if line.startswith(_ASKED))
        fits = bool(lines) and was == self._asked
        self._renewed = bool(lines) and not fits
        self.lines = tuple(line for line in lines if line and not line.startswith("#")) if fits else ()
        if frozen and not fits and asked:
            wrong = "was made for other packages than are asked for now" if lines else "is missing"
            raise EnsembleError(
                f"this lock {wrong}", path=self.path, cure="build without --locked, and commit the lock that it writes"
            )

    def pins(self) -> Pins:
        return Pins(self.lines)

    def write(self, found: Sequence[str], progress: Progress) -> None:
        """Note what was found, unless that is what the lock already says."""
        if self.lines or not found:
            return
        self.lines = tuple(sorted(set(found)))
        text = [_TITLE, *(f"{_ASKED}{each}" for each in self._asked), *self.lines]
        with write_whole(self.path) as partial:
            partial.write_text("\n".join(text) + "\n", encoding="utf-8")
        why = "renewed, because something else is asked for" if self._renewed else "written"
        progress(f"the lock {self.path.name} is {why}: {len(self.lines)} packages; commit it")
