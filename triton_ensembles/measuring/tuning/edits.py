"""The files of an ensemble with the settings of a candidate: the recipe and the config.pbtxt of its steps, edited.

The copies that a search measures and the files that ``--write`` replaces are made by the same edits.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from triton_ensembles.building.planned.model_selection import written_backend
from triton_ensembles.building.planned.plan import BuildPlan
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import read_text
from triton_ensembles.ground.rewriting import replace_all, unified_diff
from triton_ensembles.measuring.tuning.config_edit import FieldPath, Scalar, edit_config
from triton_ensembles.measuring.tuning.knobs import THREADS
from triton_ensembles.measuring.tuning.recipe_edit import edit_recipe
from triton_ensembles.measuring.tuning.space import Candidate, Setting, Value
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.runtime.backends.pytorch.parameters import SWITCHES
from triton_ensembles.triton.model_config import CONFIG

_LONGEST = 16 << 20  # bytes
# Of a config.pbtxt; other keys are fields themselves.
_FIELDS: dict[str, FieldPath] = {
    "instances": ("instance_group", 0, "count"),
    "queue_delay_us": ("dynamic_batching", "max_queue_delay_microseconds"),
}
_Edit = tuple[Path, FieldPath, Scalar]


class Files:
    """The files of an ensemble that settings are in, as they were at the start.

    Args:
        plan: of the build that the candidates differ from.
    """

    def __init__(self, plan: BuildPlan, settings: Sequence[Setting]) -> None:
        self._plan, self._settings = plan, {setting.name: setting for setting in settings}
        self._recipe = plan.folder / RECIPE
        paths = [self._recipe, *map(self._config, sorted({setting.step for setting in settings}))]
        self._texts = {path: read_text(path, _LONGEST) for path in paths}

    def edited(self, candidate: Candidate) -> dict[Path, str]:
        """The new text of each file that the candidate changes.
        Raises :class:`EnsembleError`: an edit cannot be made."""
        edits: dict[Path, dict[Any, Any]] = {}
        for name, value in candidate.changes:
            for path, field, written in self._edits(self._settings[name], value, candidate):
                edits.setdefault(path, {})[field] = written
        texts = {
            path: (edit_recipe if path == self._recipe else edit_config)(text, path, edits[path])
            for path, text in self._texts.items()
            if path in edits
        }
        return {path: text for path, text in texts.items() if text != self._texts[path]}

    def diff(self, candidate: Candidate) -> str:
        """The changes of the candidate, as a unified diff."""
        edited = self.edited(candidate).items()
        return "".join(unified_diff(path, self._texts[path], text) for path, text in edited)

    def refuse_unwritable(self) -> None:
        """Raises :class:`EnsembleError` if a file could not be replaced: before the search, not after it."""
        for path in self._texts:
            target = path.resolve()
            if not (os.access(target, os.W_OK) and os.access(target.parent, os.W_OK)):
                raise EnsembleError("this file cannot be written", path=path, cure="change its rights, or omit --write")

    def write(self, candidate: Candidate) -> list[Path]:
        """Write the candidate's settings: into all files, or where one cannot be written into none.
        Raises :class:`EnsembleError`: a file has changed since the search began, or an edit cannot be made."""
        edited = self.edited(candidate)
        for path, text in self._texts.items():
            if read_text(path, _LONGEST) != text:
                raise EnsembleError("this file has changed since tune began", path=path, cure="run tune once more")
        replace_all(edited)
        return list(edited)

    def _edits(self, setting: Setting, value: Value, candidate: Candidate) -> Iterator[_Edit]:
        """Return where the value of one setting is written."""
        step = setting.step
        if setting.key == "engine":
            yield from self._engine(step, str(value), candidate)
        elif setting.key == "instances" and (
            step in self._plan.recipe.engines or f"{step}.engine" in candidate.as_dict()
        ):
            yield self._recipe, ("engines", step, "instances"), _integer(value)
        elif setting.key == "threads":
            engine = self._settings.get(f"{step}.engine")
            present = written_backend(self._plan.configs[step])
            backend = str(candidate.value(engine)).split()[0] if engine else present
            yield self._parameter(step, THREADS[backend], str(value))
        elif setting.key in SWITCHES:
            yield self._parameter(step, setting.key, str(value))
        else:
            yield self._config(step), _FIELDS.get(setting.key, (setting.key,)), _integer(value)

    def _engine(self, step: str, value: str, candidate: Candidate) -> Iterator[_Edit]:
        backend, precision = value.split()
        engine = self._plan.recipe.engines.get(step)
        yield self._recipe, ("engines", step, "backend"), backend
        if precision != (engine.precision if engine else "fp32"):
            yield self._recipe, ("engines", step, "precision"), precision
        instances = self._settings.get(f"{step}.instances")
        if instances and engine is None:  # an engine's instances replace those of config.pbtxt
            yield self._recipe, ("engines", step, "instances"), _integer(candidate.value(instances))

    def _parameter(self, step: str, key: str, value: str) -> _Edit:
        in_recipe = key in self._plan.recipe.parameters.get(step, {})
        if key in self._plan.configs[step].parameters and not in_recipe:
            return self._config(step), ("parameters", key, "value", "string_value"), value
        return self._recipe, ("parameters", step, key), value

    def _config(self, step: str) -> Path:
        return self._plan.folder / step / CONFIG


def _integer(value: Value) -> int:
    assert isinstance(value, int), value
    return value
