"""The compiled run of an ensemble: plan.json, which the build writes and the runtime reads.

It does not name the ensemble, so that a renamed copy of the archive keeps it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from triton_ensembles.runtime.backends.common.model_instance import LoadError

PLAN = "plan.json"
DIGEST = "fused_plan"
"""The key in the ``parameters`` of config.pbtxt that holds the sha256 of plan.json."""
ENSEMBLE = "ensemble"
"""The backend of a step that is an ensemble itself."""
STEPS = "steps"
"""The folder with a folder for each step, which holds what the step's model folder holds in the drawn form."""


@dataclass(frozen=True)
class StepPlan:
    """A step of the DAG."""

    name: str  # of its folder in steps/
    version: str  # of its model, the name of its version folder
    backend: str  # "python", ENSEMBLE, or one that the backends of this project know
    config: Mapping[str, Any]  # of its model, as Triton passes it to initialize in JSON, without a name
    inputs: Mapping[str, str]  # the ensemble's tensor by the name of the step's input
    outputs: Mapping[str, str]  # the ensemble's tensor by the name of the step's output

    @cached_property
    def wanted(self) -> Sequence[str]:
        """The outputs of the step that the DAG reads or returns, sorted."""
        return sorted(self.outputs)


@dataclass(frozen=True)
class Plan:
    """The DAG."""

    batched: bool  # whether the ensemble has a batch axis
    optional: Sequence[str]  # the ensemble's optional inputs
    outputs: Mapping[str, Sequence[int]]  # the dims by name, with reshape applied and without the batch axis
    steps: Sequence[StepPlan]  # in an order in which each follows those whose tensors it reads
    called: Sequence[StepPlan]  # models that are no steps, and that steps need; they have no tensors of the DAG
    calls: Mapping[str, Sequence[str]]  # the models that each needs, by name, for those who look at the plan
    files: Mapping[str, tuple[int, str]]  # size in bytes and sha256 of every other file of the version folder, by path

    @property
    def models(self) -> tuple[StepPlan, ...]:
        """The steps, then the models that are only called."""
        return (*self.steps, *self.called)

    def as_json(self) -> str:
        """Return the same text for the same plan; its outputs are in the order of the config, as they are answered."""
        fields = json.loads(json.dumps(asdict(self), sort_keys=True)) | {"outputs": self.outputs}
        return json.dumps(fields, indent=1) + "\n"


def read_plan(folder: Path, sha256: str) -> Plan:
    """The plan in a version folder. Raises LoadError unless it has this sha256, which config.pbtxt names."""
    try:
        content = (folder / PLAN).read_bytes()
    except OSError as error:
        raise LoadError(f"{PLAN} of the fused ensemble cannot be read: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise LoadError(f"{PLAN} is damaged, or is not of the same build as config.pbtxt: build the archive again")
    try:
        return plan_of(content)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise LoadError(f"{PLAN} is not the plan of a fused ensemble: build the archive again") from error


def plan_of(text: str | bytes) -> Plan:
    """The plan in JSON. Raises ValueError, LookupError, TypeError or RecursionError for anything else."""
    read = json.loads(text)
    models = {kind: tuple(StepPlan(**step) for step in read[kind]) for kind in ("steps", "called")}
    return Plan(**{**read, **models})
