"""The steps of an ensemble."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from triton_ensembles.checking.completed import completed
from triton_ensembles.checking.repository import Model, Repository
from triton_ensembles.checking.text.unknown import UnknownValueError


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
        """The model as Triton completes it, if it has a config.pbtxt; without one it gets its own fault."""
        if self.model is None or not self.model.has_config:
            return None
        return completed(self.model)


def steps(model: Model) -> tuple[Step, ...]:
    """The steps whose model_name is known."""
    return model.repository.once(f"steps of {model.root}", lambda: tuple(_steps(model)))


def _steps(model: Model) -> Iterator[Step]:
    for number, item in enumerate(model.config.ensemble_scheduling.step):
        with suppress(UnknownValueError):
            yield Step(number, item, model.repository.model(item.model_name))


def step_names(repository: Repository) -> frozenset[str]:
    """The model_name of every step of every ensemble."""
    return repository.once(
        "names of steps",
        lambda: frozenset(item.message.model_name for model in repository.ensembles for item in steps(model)),
    )
