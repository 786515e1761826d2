"""The environment files that a recipe names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.project.recipe.environment_file import EnvironmentSpec, read_environment_file

if TYPE_CHECKING:
    from triton_ensembles.project.recipe.schema import Environment, Recipe

_MOST_BYTES = 1 << 17  # of all environment files of a recipe


class EnvironmentFile(NamedTuple):
    """A file that could be read, by the path that people see, and the table of the recipe that names it."""

    path: str
    spec: EnvironmentSpec
    environment: Environment


@dataclass
class EnvironmentFiles:
    """The files below ``project``, each of them read once."""

    project: Path
    recipe: Recipe | None
    _read: dict[Path, EnvironmentSpec | EnsembleError] = field(default_factory=dict)
    _left: int = _MOST_BYTES

    def files(self) -> Iterator[EnvironmentFile]:
        """Yield those without faults; the build judges the others."""
        for environment in self.recipe.environments.values() if self.recipe else ():
            try:
                spec = self.spec(self.project / environment.file)
            except EnsembleError:
                continue
            yield EnvironmentFile(shown(spec.path), spec, environment)

    def spec(self, path: Path) -> EnvironmentSpec:
        """Return the content of the file at ``path``. Raises :class:`EnsembleError`, also when all are too long."""
        if path not in self._read:
            try:
                self._left -= path.stat().st_size if path.is_file() else 0
                if self._left < 0:
                    message = f"the environment files of this recipe are longer than {_MOST_BYTES >> 10} KiB together"
                    raise EnsembleError(message, path=path, cure="shorten them")
                self._read[path] = read_environment_file(path)
            except EnsembleError as error:
                self._read[path] = error
        spec = self._read[path]
        if isinstance(spec, EnsembleError):
            raise spec
        return spec
