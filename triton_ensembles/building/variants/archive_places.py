"""Where a variant's files and parameters belong in the archive: people write the names of steps as they are in git."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from triton_ensembles.archive.clone_texts import differs
from triton_ensembles.archive.clones import Original
from triton_ensembles.archive.manifest import MANIFEST
from triton_ensembles.archive.tree import is_archive
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import parse_json
from triton_ensembles.ground.spelling import choices, nearest
from triton_ensembles.triton.model_config import CONFIG

# Made by the build from a model file for ONNX Runtime (weights_gate.py); a file from elsewhere has its weights in it.
_GATE, _WITH_GATE = ".gate.json", (".gate.json", ".prepacked.onnx", ".weights")
_KEY = re.compile(r"[^\s\0]+")


@dataclass(frozen=True)
class ArchivePlaces:
    """Places in one archive."""

    original: Original

    @cached_property
    def _files(self) -> dict[str, str]:
        """Paths in the archive, by every path that people may write."""
        files: dict[str, str] = {}
        for path in self.original.files:
            files.setdefault(self.original.names.in_recipe(path), path)
        return files | {path: path for path in self.original.files}

    @cached_property
    def random(self) -> set[str]:
        """The files with random weights, as the manifest says."""
        try:
            records = parse_json(self.original.texts.originals[MANIFEST])["artifacts"]
            return {self._files[path] for path, record in records.items() if record["random"] and path in self._files}
        except (ValueError, LookupError, TypeError, AttributeError):
            return set()

    @cached_property
    def _replaceable(self) -> list[str]:
        """The files that a variant may replace, with the names of steps as they are in git."""
        return sorted({self.original.names.in_recipe(path) for path in self.original.files if not differs(path)})

    @cached_property
    def _steps(self) -> dict[str, str]:
        """Return how the step is called in :class:`Changes`, by every name that people may write."""
        texts = self.original.texts
        models = [model for model in sorted(self.original.names.models) if f"{model}/{CONFIG}" in texts.originals]
        short = {model.removeprefix(f"{self.original.names.top}."): model for model in models}
        alone = {texts.only_model: ""} if texts.only_model else {}
        return short | {model: model for model in models} | {step: step for step in texts.steps} | alone

    def file(self, inner: str) -> str:
        """The path in the archive of what a variant has at ``inner``. Raises :class:`EnsembleError`: the archive has no
        such file, or it is not one that a variant may replace."""
        if PurePosixPath(inner).name == CONFIG:
            cure = "set parameters in columns STEP.PARAMETER; another DAG is another ensemble"
            raise EnsembleError(f"a variant cannot have a {CONFIG} of its own ({inner!r})", cure=cure)
        name = self._files.get(inner)
        if name is None:
            meant = nearest(inner, self._replaceable) or _same_name(inner, self._replaceable)
            cure = f"did you mean {meant}" if meant else f"it has {choices(self._replaceable, 4)}"
            raise EnsembleError(f"the archive has no file {inner!r}", cure=cure)
        if is_archive(name):
            cure = "name its packages in the recipe, and build the ensemble with them"
            raise EnsembleError(f"a variant cannot have an environment of its own ({inner!r})", cure=cure)
        if differs(name):
            message = f"{inner!r} is written by {'clone' if name == MANIFEST else 'the build'}"
            raise EnsembleError(message, cure="remove it")
        return name

    def left_out(self, files: Iterable[str]) -> frozenset[str]:
        """Files that the build made from ``files``, which are replaced, and that nobody replaces."""
        replaced, there = set(files), set(self.original.files)
        stems = {str(PurePosixPath(path).with_suffix("")) for path in replaced if path.endswith(".onnx")}
        gated = (f"{stem}{ending}" for stem in stems if f"{stem}{_GATE}" in there for ending in _WITH_GATE)
        return frozenset(path for path in gated if path in there and path not in replaced)

    def parameter(self, column: str, table: Path) -> tuple[str, str]:
        """The step and the key that a column of ``table`` sets. Raises :class:`EnsembleError`: there is no such
        step."""
        beginnings = [name for name in self._steps if column.startswith(f"{name}.")]
        step = max(beginnings, key=len, default=None)
        if step is None:
            written = column.partition(".")[0]
            meant = nearest(written, self._steps)
            cure = f"did you mean {meant}.{column.partition('.')[2]}" if meant else f"it has {choices(self._steps)}"
            message = f"the column {column!r} names a step {written!r}, and the archive has no {CONFIG} of one"
            raise EnsembleError(message, path=table, line=1, cure=cure)
        key = column.removeprefix(f"{step}.")
        if not _KEY.fullmatch(key):
            raise EnsembleError(
                f"{key!r} is not the key of a parameter", path=table, line=1, cure="write STEP.PARAMETER"
            )
        return self._steps[step], key


def _same_name(inner: str, paths: Iterable[str]) -> str | None:
    """The only file of the same name in another folder."""
    name = PurePosixPath(inner).name
    matches = {path for path in paths if PurePosixPath(path).name == name}
    return matches.pop() if len(matches) == 1 else None
