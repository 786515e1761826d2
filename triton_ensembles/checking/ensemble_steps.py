"""The steps of an ensemble."""

from contextlib import suppress
from typing import Any, NamedTuple

from triton_ensembles.checking.repository import Model, Repository
from triton_ensembles.checking.text.unknown import UnknownValueError

_NAMES = "names of steps"  # in Repository.cache


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
        """The model if it has a config.pbtxt; without one it gets its own fault."""
        return self.model if self.model is not None and self.model.has_config else None


def steps(model: Model) -> tuple[Step, ...]:
    """The steps whose model_name is known."""
    cache, key = model.repository.cache, f"steps of {model.root}"
    if key not in cache:
        known_steps = []
        for number, item in enumerate(model.config.ensemble_scheduling.step):
            with suppress(UnknownValueError):
                known_steps.append(Step(number, item, model.repository.model(item.model_name)))
        cache[key] = tuple(known_steps)
    known: tuple[Step, ...] = cache[key]
    return known


def step_names(repository: Repository) -> frozenset[str]:
    """The model_name of every step of every ensemble."""
    if _NAMES not in repository.cache:
        model_names = (item.message.model_name for model in repository.ensembles for item in steps(model))
        repository.cache[_NAMES] = frozenset(model_names)
    names: frozenset[str] = repository.cache[_NAMES]
    return names
