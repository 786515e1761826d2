"""A single-model endpoint: which model of its one archive it serves, and the variables that say so."""

from collections.abc import Mapping

from triton_ensembles.checking.repository import Repository
from triton_ensembles.checking.sagemaker import called_models, served_models
from triton_ensembles.triton.destination import Destination, SingleModel
from triton_ensembles.triton.sagemaker_variables import ADDITIONAL_ARGS, DEFAULT_MODEL, INFERENCE_TYPE


def single_model(environment: Mapping[str, str]) -> SingleModel:
    """Return what the container's variables say about it."""
    return SingleModel(environment.get(DEFAULT_MODEL, ""), environment.get(INFERENCE_TYPE) or SingleModel.inference)


def named_in(environment: Mapping[str, str], repository: Repository, destination: Destination) -> dict[str, str]:
    """``environment`` with the model that is served, and a flag for each model that is called and is no step of it: the
    entry point loads one model and its steps. ``check`` has found no error in the repository for the destination.
    Where that leaves open which model is served, it is the first, and the others are loaded."""
    model, *others = served_models(repository, destination)
    given = environment.get(ADDITIONAL_ARGS, "").split()
    flags = [f"--load-model={loaded.folder}" for loaded in (*others, *called_models(repository, destination))]
    arguments = " ".join((*given, *(flag for flag in flags if flag not in given)))
    return {**environment, DEFAULT_MODEL: model.folder} | ({ADDITIONAL_ARGS: arguments} if arguments else {})
