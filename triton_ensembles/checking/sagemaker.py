"""How SageMaker's container reads a repository: server r24.10 src/sagemaker_server.cc on a multi-model endpoint, and
docker/sagemaker/serve on a single-model one, where the models that others call can be loaded besides.

Its rules apply to archives, to folders of ensembles/ (which become archives), and to any repository when the
destination names an instance type or a single-model endpoint, but not to one for a plain tritonserver.
"""

from triton_ensembles.archive.manifest import GATEWAY_TABLE
from triton_ensembles.checking.python.model_calls import needed, outermost, reached, step_models
from triton_ensembles.checking.repository import Form, Model, Repository
from triton_ensembles.checking.rule import ANYWHERE
from triton_ensembles.sagemaker.contract import ENSEMBLE
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.sagemaker_variables import ADDITIONAL_ARGS, is_known


def for_sagemaker(repository: Repository, destination: Destination) -> bool:
    return repository.form in (Form.ARCHIVE, Form.SOURCE) or bool(destination.instance or destination.single)


def is_of_gateway(repository: Repository) -> bool:
    """Return whether its models are for the gateway's container, which serves all of them: its table is beside them."""
    return repository.tree.get(GATEWAY_TABLE) is not None


def is_packed(repository: Repository, destination: Destination) -> bool:
    """An archive, or a folder that will be packed as it is: one that is checked for an instance of SageMaker."""
    return repository.is_archive or (repository.form is Form.FOLDER and for_sagemaker(repository, destination))


def served_models(repository: Repository, destination: Destination = ANYWHERE) -> list[Model]:
    """The models of which the front end may choose one as the endpoint's model, by its own search; for a single-model
    endpoint those that ``deploy`` may name: which no other one calls or has as a step, of these the ensembles."""
    if destination.single:
        return repository.once(f"served alone {destination.single.model}", lambda: _alone(repository, destination))
    if repository.is_one_model or len(repository.models) <= 1:
        return list(repository.models)
    ensembles = (model for model in repository.models if ENSEMBLE.search(model.file.text))
    return repository.once("served models", lambda: list(ensembles) or list(repository.models))


def loaded_models(repository: Repository, destination: Destination = ANYWHERE) -> list[Model]:
    """The models that one load starts: the served one and, if it is an ensemble, its steps; on a single-model endpoint
    also those that they call, which ``deploy`` has the container load (:func:`called_models`)."""
    calls = destination.single is not None and is_known(ADDITIONAL_ARGS, destination.release)
    key = f"loaded models {destination.single} {calls}"
    return repository.once(
        key, lambda: reached(served_models(repository, destination), needed if calls else step_models)
    )


def called_models(repository: Repository, destination: Destination) -> list[Model]:
    """The loaded models of a single-model endpoint that are no steps: Triton loads them only where it is told to."""
    with_steps = {model.folder for model in reached(served_models(repository, destination), step_models)}
    return [model for model in loaded_models(repository, destination) if model.folder not in with_steps]


def _alone(repository: Repository, destination: Destination) -> list[Model]:
    models = [model for model in repository.models if model.has_config or model.versions]
    if destination.single and destination.single.model:
        return [model for model in models if model.folder == destination.single.model]
    tops = outermost(models)
    return [model for model in tops if model.is_ensemble] or tops


def is_served(model: Model, destination: Destination = ANYWHERE) -> bool:
    """Return whether ``model`` is one of :func:`served_models`."""
    names = (served.folder for served in served_models(model.repository, destination))
    return model.folder in model.repository.once(f"names of served models {destination.single}", lambda: set(names))


def inner_models(repository: Repository) -> list[Model]:
    """The models that one load starts besides the served one."""
    return [model for model in loaded_models(repository) if not is_served(model)]
