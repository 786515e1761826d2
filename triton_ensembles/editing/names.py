"""What a name in a config.pbtxt stands for, which names may stand there, and where else a tensor is named."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from triton_ensembles.checking.config_tensors import type_name
from triton_ensembles.checking.repository import Model
from triton_ensembles.checking.text.parsed import Path
from triton_ensembles.editing.cursor import Cursor

_TEXT = re.compile(r"([\"'])([^\"'\n]+)\1")
_STEP = ("ensemble_scheduling", "step")
_KINDS = ("input", "output")


class Meant(NamedTuple):
    """A model, or one of its tensors; of an ensemble, also one between its steps."""

    model: Model
    tensor: str = ""


def meant(model: Model, cursor: Cursor) -> Meant | None:
    """Return what the value at ``cursor`` in the config of ``model`` names; None for what is no name."""
    match (*cursor.path, cursor.field.name if cursor.field else ""):
        case ("ensemble_scheduling", "step", int(), "model_name"):
            named = _model(model, cursor.text)
            return Meant(named) if named else None
        case ("ensemble_scheduling", "step", int(number), "input_map" | "output_map", "key"):
            named = step_model(model, number)
            return Meant(named, cursor.text) if named else None
        case ("ensemble_scheduling", "step", int(), "input_map" | "output_map", "value"):
            return Meant(model, cursor.text)
        case ("input" | "output", int(), "name"):
            return Meant(model, cursor.text)
    return None


def meant_in_python(model: Model, text: str, offset: int) -> Meant | None:
    """Return the input or output of ``model`` that a text in its model.py at ``offset`` is the name of."""
    start = text.rfind("\n", 0, offset) + 1
    for match in _TEXT.finditer(text, start, text.find("\n", offset) % (len(text) + 1)):
        if match.start() <= offset <= match.end() and next(places_of(named := Meant(model, match[2])), None):
            return named
    return None


def offered(model: Model, cursor: Cursor) -> dict[str, str]:
    """Return the names that may be the value at ``cursor``, and what is known of each."""
    config = model.file.config
    match (*cursor.path, cursor.field.name if cursor.field else ""):
        case ("ensemble_scheduling", "step", int(), "model_name"):
            others = (each for each in model.repository.models_read if each is not model)
            return {each.folder: each.file.config.backend or each.file.config.platform for each in others}
        case ("ensemble_scheduling", "step", int(number), "input_map" | "output_map" as field, "key"):
            named = step_model(model, number)
            return described(getattr(named.file.config, field.removesuffix("_map"))) if named else {}
        case ("ensemble_scheduling", "step", int(), "input_map" | "output_map" as field, "value"):
            other = "output_map" if field == "input_map" else "input_map"  # a tensor that is read was written
            between = {name for step in config.ensemble_scheduling.step for name in getattr(step, other).values()}
            between -= {cursor.text, *(each.name for each in config.input if field == "output_map")}
            return dict.fromkeys(sorted(between), "") | described(getattr(config, field.removesuffix("_map")))
    return {}


def described(tensors: Sequence[Any]) -> dict[str, str]:
    """Return the type and the dims of each input or output: ``TYPE_FP32 [ -1, 4 ]``."""
    return {each.name: f"{type_name(each.data_type)} [ {', '.join(map(str, each.dims))} ]" for each in tensors}


def places_of(tensor: Meant) -> Iterator[tuple[Model, Path]]:
    """Yield where configs name a tensor: first where it comes from, and last the keys of those that use its model."""
    model, name = tensor
    config, steps = model.file.config, model.file.config.ensemble_scheduling.step
    tensors = [(kind, n, each) for kind in _KINDS for n, each in enumerate(getattr(config, kind))]
    declared = [(kind, n, "name") for kind, n, each in tensors if each.name == name]
    values = [
        (*_STEP, number, field, key, "value")
        for field in ("output_map", "input_map")
        for number, step in enumerate(steps)
        for key, value in sorted(getattr(step, field).items())
        if value == name
    ]
    inputs = [path for path in declared if path[0] == "input"]
    yield from ((model, path) for path in (*inputs, *values, *declared[len(inputs) :]))
    warmups = enumerate(config.model_warmup)
    yield from ((model, ("model_warmup", n, "inputs", name, "key")) for n, each in warmups if name in each.inputs)
    for user in model.repository.models_read if declared else ():
        for number, step in enumerate(user.file.config.ensemble_scheduling.step):
            for kind in _KINDS if step.model_name == model.folder else ():
                if name in getattr(step, f"{kind}_map") and any(path[0] == kind for path in declared):
                    yield user, (*_STEP, number, f"{kind}_map", name, "key")


def step_model(model: Model, number: int) -> Model | None:
    """Return the model of a step; None if the repository has none of its name."""
    steps = model.file.config.ensemble_scheduling.step
    return _model(model, steps[number].model_name) if number < len(steps) else None


def _model(model: Model, name: str) -> Model | None:
    return next((each for each in model.repository.models_read if each.folder == name), None)
