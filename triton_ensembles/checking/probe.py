"""The real server's answers about the models of a repository, for the rules of ``check --run``."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from triton_ensembles.checking.repository import Model, Repository
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.model_config import ModelConfig


@dataclass(frozen=True)
class OutputTensor:
    """An output of an answer; its ``datatype`` as KServe v2 writes it (``FP32``), its shape with the batch axis."""

    name: str
    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Trial:
    """A request that was sent to a model, and its answer, or else its ``failure`` in the server's words."""

    label: str  # what the request is in a sentence, such as "the example one.json"
    is_made_up: bool
    outputs: tuple[OutputTensor, ...] = ()  # of all responses of a decoupled model
    failure: str = ""
    requested: frozenset[str] = frozenset()  # the outputs that an example asks for; empty: all
    classified: frozenset[str] = frozenset()  # of those, the ones as classes (Triton's classification extension)
    rows: int = 0  # of the batch; 0: the model does not batch


@dataclass(frozen=True)
class ProbedModel:
    """A model that was loaded, or could not be."""

    model: Model
    folder: Path  # that the server read, without links: tracebacks name files in it
    config: ModelConfig = field(default_factory=ModelConfig)  # as the server completed it
    refusal: str = ""  # why it does not load, in the server's words
    untried: str = ""  # why no request could be made
    bad_example: EnsembleError | None = None
    trials: tuple[Trial, ...] = ()

    @cached_property
    def steps(self) -> frozenset[str]:
        """The names of its steps, if it is an ensemble."""
        return frozenset(step.model_name for step in self.config.ensemble_scheduling.step)


@dataclass(frozen=True)
class Probe:
    """A repository whose models were run, steps before the ensembles that they are in."""

    repository: Repository
    models: dict[str, ProbedModel]  # by the names that the server has for them
    left_out: tuple[str, ...] = ()  # the models that were not loaded, because rules find errors in them
    elsewhere: tuple[tuple[Model, str], ...] = ()  # those that this machine cannot run, and why
