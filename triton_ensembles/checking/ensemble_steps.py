"""The steps of an ensemble."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from triton_ensembles.checking.completed import CompletedModel, completed, may_have_more_tensors
from triton_ensembles.checking.fault import Edit, Finding
from triton_ensembles.checking.repository import Model, Repository
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.spelling import listed


class Step(NamedTuple):
    """A step of an ensemble, and its model if the repository has it."""

    number: int
    message: Any
    model: Model | None

    @property
    def path(self) -> tuple[str, str, int]:
        return ("ensemble_scheduling", "step", self.number)

    @property
    def configured(self) -> Model | None:
        """The model as Triton completes it, if that is known; without a config.pbtxt it has its own fault."""
        model = completed(self.model) if self.model else None
        return model if model and (model.has_config or isinstance(model, CompletedModel)) else None


def steps(model: Model) -> tuple[Step, ...]:
    """The steps whose model_name is known."""
    return model.repository.once(f"steps of {model.root}", lambda: tuple(_steps(model)))


def _steps(model: Model) -> Iterator[Step]:
    for number, item in enumerate(model.config.ensemble_scheduling.step):
        with suppress(UnknownValueError):
            yield Step(number, item, model.repository.model(item.model_name))


Swap = tuple[str, Finding]  # the map that it is reported at


def swaps(model: Model) -> dict[int, list[Swap]]:
    """Return what is swapped in the steps, by their numbers."""
    return model.repository.once(f"swaps of {model.root}", lambda: dict(_swaps(model)))


def _swaps(model: Model) -> Iterator[tuple[int, list[Swap]]]:
    flowing = {"input": {tensor.name for tensor in model.config.input}, "output": set[str]()}
    flowing["output"].update(tensor.name for tensor in model.config.output)
    for item in steps(model):
        with suppress(UnknownValueError):
            flowing["input"].update(item.message.output_map.values())
            flowing["output"].update(item.message.input_map.values())
    for item in steps(model):
        with suppress(UnknownValueError):
            configured = item.configured
            if configured and not may_have_more_tensors(configured) and (found := list(_of_step(model, item, flowing))):
                yield item.number, found


def _of_step(model: Model, item: Step, flowing: dict[str, set[str]]) -> Iterator[Swap]:
    """``flowing`` has the ensemble's tensors that a step may read as an input, or write as an output."""
    config = item.configured.config if item.configured else None
    names = {kind: {tensor.name for tensor in getattr(config, kind)} for kind in ("input", "output")}
    maps = {kind: getattr(item.message, f"{kind}_map") for kind in names}
    name = item.message.model_name
    fits = set(maps["input"]) <= names["output"] and set(maps["output"]) <= names["input"]
    if fits and all(maps.values()) and not any(names[kind] & set(maps[kind]) for kind in names):
        message = f"input_map and output_map of this step are swapped: '{name}' reads {listed(names['input'])}"
        cure = "write output_map for input_map, and input_map for output_map"
        edits: tuple[Edit, ...] = ()
        for old, new in (("input_map", "output_map"), ("output_map", "input_map")):
            entries = ((*item.path, old, key) for key in getattr(item.message, old))
            edits += model.file.called((*item.path, old), *entries, to=new)
        yield "input_map", Finding(model.at(*item.path, "input_map"), message, cure=cure, edits=edits)
        return
    for kind, pairs in maps.items():
        for key in sorted(pairs):
            value = pairs[key]
            is_tensor = value in names[kind] and value not in pairs
            if is_tensor and key not in names[kind] and key in flowing[kind]:
                message = f"key and value of this {kind}_map are swapped: '{value}' is the {kind} of '{name}'"
                cure = f'write {kind}_map {{ key: "{value}" value: "{key}" }}'
                entry = (*item.path, f"{kind}_map", key)
                edits = model.file.swapped((*entry, "key"), (*entry, "value"))
                yield f"{kind}_map", Finding(model.at(*entry, "key"), message, cure=cure, edits=edits)


def step_names(repository: Repository) -> frozenset[str]:
    """The model_name of every step of every ensemble."""
    return repository.once(
        "names of steps",
        lambda: frozenset(item.message.model_name for model in repository.ensembles for item in steps(model)),
    )
