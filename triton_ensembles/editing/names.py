"""The meaning of a name in a config.pbtxt, which names may stand there, and where a tensor comes from."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from triton_ensembles.checking.config_tensors import type_name
from triton_ensembles.checking.repository import Model
from triton_ensembles.checking.text.parsed import Path
from triton_ensembles.editing.cursor import Cursor


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


def place_of(named: Meant) -> Path | None:
    """Return the place in a model's config where one of its tensors comes from, None for a tensor that it does not
    have; of a model itself the whole."""
    if not named.tensor:
        return ()
    return next((path for path, name in _places(named.model.file.config) if name == named.tensor), None)


def _places(config: Any) -> Iterator[tuple[Path, str]]:
    """Yield the places that name a tensor: inputs, then those that steps write, those that they read, and outputs."""
    yield from ((("input", number, "name"), tensor.name) for number, tensor in enumerate(config.input))
    for field in ("output_map", "input_map"):
        for number, step in enumerate(config.ensemble_scheduling.step):
            for key, name in sorted(getattr(step, field).items()):
                yield ("ensemble_scheduling", "step", number, field, key, "value"), name
    yield from ((("output", number, "name"), tensor.name) for number, tensor in enumerate(config.output))


def step_model(model: Model, number: int) -> Model | None:
    """Return the model of a step; None if the repository has none of its name."""
    steps = model.file.config.ensemble_scheduling.step
    return _model(model, steps[number].model_name) if number < len(steps) else None


def _model(model: Model, name: str) -> Model | None:
    return next((each for each in model.repository.models_read if each.folder == name), None)
