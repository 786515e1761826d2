"""The DAG of a fused ensemble, which is in its plan."""

from google.protobuf.json_format import ParseDict, ParseError

from triton_ensembles.graphs.dag import Graph, graph_of
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import parse_json
from triton_ensembles.runtime.fused.plan import PLAN
from triton_ensembles.triton.model_config import ModelConfig


def graph_of_plan(name: str, config: ModelConfig, plan: str) -> Graph:
    """The graph of the fused ensemble whose config.pbtxt is ``config`` and whose plan.json is ``plan``. Raises
    :class:`EnsembleError`: it is no plan."""
    ensemble, models = ModelConfig(), {}
    ensemble.CopyFrom(config)
    try:
        for step in parse_json(plan)["steps"]:
            maps = {"input_map": step["inputs"], "output_map": step["outputs"]}
            ensemble.ensemble_scheduling.step.add(model_name=step["name"], **maps)
            models[step["name"]] = ParseDict(step["config"], ModelConfig(), ignore_unknown_fields=True)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, ParseError) as error:
        message = f"{PLAN} of '{name}' is not the plan of a fused ensemble: {str(error)[:200]}"
        raise EnsembleError(message, cure="build the archive again") from error
    return graph_of(name, ensemble, models)
