"""The files of an ensemble with the settings of a candidate: the recipe and the config.pbtxt of its steps, edited.

The copies that a search measures and the files that ``--write`` replaces are made by the same edits.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from triton_ensembles.building.planned.model_selection import written_backend
from triton_ensembles.building.planned.plan import BuildPlan
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import read_text
from triton_ensembles.ground.rewriting import replace_all, unified_diff
from triton_ensembles.measuring.tuning.config_edit import FieldPath, Scalar, edit_config
from triton_ensembles.measuring.tuning.knobs import THREADS
from triton_ensembles.measuring.tuning.recipe_edit import Keys, edit_recipe
from triton_ensembles.measuring.tuning.space import Candidate, Setting
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.runtime.backends.pytorch.parameters import SWITCHES
from triton_ensembles.triton.model_config import CONFIG

_LONGEST = 16 << 20  # bytes
_BATCHING = "dynamic_batching"


class Files:
    """The files of an ensemble that settings are in, as they were at the start.

    Args:
        plan: of the build that the candidates differ from.
    """

    def __init__(self, plan: BuildPlan, settings: Sequence[Setting]) -> None:
        self._plan, self._settings = plan, {setting.name: setting for setting in settings}
        steps = sorted({setting.step for setting in settings})
        paths = [plan.folder / RECIPE, *(plan.folder / step / CONFIG for step in steps)]
        self._texts = {path: read_text(path, _LONGEST) for path in paths}

    def edited(self, candidate: Candidate) -> dict[Path, str]:
        """The new text of each file that the candidate changes.
        Raises :class:`EnsembleError`: an edit cannot be made."""
        recipe: dict[Keys, str | int] = {}
        configs: dict[str, dict[FieldPath, Scalar]] = {}
        for name, value in candidate.changes:
            setting = self._settings[name]
            self._put(setting, value, candidate, recipe, configs.setdefault(setting.step, {}))
        path = self._plan.folder / RECIPE
        texts = {path: edit_recipe(self._texts[path], path, recipe)}
        for step, values in configs.items():
            path = self._plan.folder / step / CONFIG
            texts[path] = edit_config(self._texts[path], path, values)
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
        """Write the candidate's settings: into all files, or after an error into none.
        Raises :class:`EnsembleError`: a file has changed since the search began, or an edit cannot be made."""
        edited = self.edited(candidate)
        for path, text in self._texts.items():
            if read_text(path, _LONGEST) != text:
                raise EnsembleError("this file has changed since tune began", path=path, cure="run tune once more")
        try:
            replace_all(edited)
        except OSError:
            replace_all({path: self._texts[path] for path in edited if read_text(path, _LONGEST) != self._texts[path]})
            raise
        return list(edited)

    def _put(
        self,
        setting: Setting,
        value: str | int | None,
        candidate: Candidate,
        recipe: dict[Keys, str | int],
        config: dict[FieldPath, Scalar],
    ) -> None:
        """Note where the value of one setting is written."""
        step = setting.step
        if setting.key == "engine":
            self._put_engine(step, str(value), candidate, recipe)
        elif setting.key == "instances":
            if step in self._plan.recipe.engines or f"{step}.engine" in candidate.as_dict():
                recipe["engines", step, "instances"] = _integer(value)
            else:
                config["instance_group", 0, "count"] = _integer(value)
        elif setting.key == "threads":
            self._put_threads(step, str(value), candidate, recipe, config)
        elif setting.key in SWITCHES:
            self._put_parameter(step, setting.key, str(value), recipe, config)
        elif setting.key == "queue_delay_us":
            config[_BATCHING, "max_queue_delay_microseconds"] = _integer(value)
        elif setting.key == "preferred_batch_size":
            config[_BATCHING, "preferred_batch_size"] = (_integer(value),)
        else:
            config[setting.key,] = _integer(value)

    def _put_engine(self, step: str, value: str, candidate: Candidate, recipe: dict[Keys, str | int]) -> None:
        backend, precision = value.split()
        engine = self._plan.recipe.engines.get(step)
        recipe["engines", step, "backend"] = backend
        if precision != (engine.precision if engine else "fp32"):
            recipe["engines", step, "precision"] = precision
        if engine is None:  # an engine's instances replace those of config.pbtxt
            instances = self._settings.get(f"{step}.instances")
            if instances:
                recipe["engines", step, "instances"] = _integer(candidate.value(instances))

    def _put_threads(
        self,
        step: str,
        value: str,
        candidate: Candidate,
        recipe: dict[Keys, str | int],
        config: dict[FieldPath, Scalar],
    ) -> None:
        engine = self._settings.get(f"{step}.engine")
        present = written_backend(self._plan.configs[step])
        backend = str(candidate.value(engine)).split()[0] if engine else present
        self._put_parameter(step, THREADS[backend], value, recipe, config)

    def _put_parameter(
        self, step: str, key: str, value: str, recipe: dict[Keys, str | int], config: dict[FieldPath, Scalar]
    ) -> None:
        in_recipe = key in self._plan.recipe.parameters.get(step, {})
        if key in self._plan.configs[step].parameters and not in_recipe:
            config["parameters", key, "value", "string_value"] = value
        else:
            recipe["parameters", step, key] = value


def _integer(value: str | int | None) -> int:
    assert isinstance(value, int), value
    return value
