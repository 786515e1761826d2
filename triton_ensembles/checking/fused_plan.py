"""The steps of a fused ensemble, from the plan in its version folder, for whoever looks at its archive."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from google.protobuf.json_format import ParseDict, ParseError

from triton_ensembles.checking.repository import Model
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import parse_json
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.runtime.fused.plan import DIGEST, PLAN
from triton_ensembles.triton.model_config import ModelConfig


@dataclass(frozen=True)
class FusedPlan:
    """The ensemble that was fused.

    Attributes:
        ensemble: its config, with the steps in ``ensemble_scheduling``.
        models: the configs of the steps and of the models that they call, by name, as Triton completes them.
        calls: the models that each model calls, by name.
    """

    ensemble: ModelConfig
    models: Mapping[str, ModelConfig]
    calls: Mapping[str, Sequence[str]]


def is_fused(model: Model) -> bool:
    """Return whether it is a model that runs the steps of a fused ensemble."""
    return DIGEST in model.written.parameters


def fused_plan(model: Model) -> FusedPlan:
    """Read the plan of a fused ensemble. Raises :class:`EnsembleError`: it is missing, or is no plan."""
    path = f"{model.versions[max(model.versions)]}/{PLAN}" if model.versions else PLAN
    entry = model.get(path)
    if entry is None or entry.text is None:
        message = f"{PLAN} of this fused ensemble is missing, or too large to be read"
        cure = f"look at the ensemble that it was built from: {COMMAND} graph NAME"
        raise EnsembleError(message, path=model.repository.path, cure=cure)
    ensemble, models = ModelConfig(), {}
    ensemble.CopyFrom(model.written)
    del ensemble.parameters[DIGEST]
    try:
        read = parse_json(entry.text)
        for step in read["steps"]:
            maps = {"input_map": step["inputs"], "output_map": step["outputs"]}
            ensemble.ensemble_scheduling.step.add(model_name=step["name"], **maps)
        for step in (*read["steps"], *read["called"]):
            models[step["name"]] = ParseDict(step["config"], ModelConfig(), ignore_unknown_fields=True)
        calls = {str(caller): [str(callee) for callee in callees] for caller, callees in read["calls"].items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, ParseError) as error:
        message = f"{PLAN} of '{model.folder}' is not the plan of a fused ensemble: {str(error)[:200]}"
        raise EnsembleError(message, path=model.repository.path, cure="build the archive again") from error
    return FusedPlan(ensemble, models, calls)
