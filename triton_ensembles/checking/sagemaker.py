"""How SageMaker's multi-model front end reads a repository: server r24.10 src/sagemaker_server.cc.

Its rules apply to archives, to folders of ensembles/ (which become archives), and to any repository when the
destination names an instance type. They do not apply to a model repository for a plain tritonserver.
"""

from triton_ensembles.checking.repository import Form, Model, Repository
from triton_ensembles.sagemaker.contract import ENSEMBLE
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.gateway_server import TABLE


def for_sagemaker(repository: Repository, destination: Destination) -> bool:
    return repository.form in (Form.ARCHIVE, Form.SOURCE) or bool(destination.instance)


def is_of_gateway(repository: Repository) -> bool:
    """Whether its models are for the gateway's container, which serves all of them: its table is beside them."""
    return repository.tree.get(TABLE) is not None


def is_packed(repository: Repository, destination: Destination) -> bool:
    """An archive, or a folder that will be packed as it is: one that is checked for an instance of SageMaker."""
    return repository.is_archive or (repository.form is Form.FOLDER and bool(destination.instance))


def served_models(repository: Repository) -> list[Model]:
    """The models of which the front end may choose one as the endpoint's model, by its own search."""
    if repository.is_one_model or len(repository.models) <= 1:
        return list(repository.models)
    ensembles = (model for model in repository.models if ENSEMBLE.search(model.file.text))
    return repository.once("served models", lambda: list(ensembles) or list(repository.models))


def loaded_models(repository: Repository) -> list[Model]:
    """The models that one load starts: the served one and, if it is an ensemble, its steps."""
    return repository.once("loaded models", lambda: _loaded(repository))


def _loaded(repository: Repository) -> list[Model]:
    models: dict[str, Model] = {}
    waiting = list(served_models(repository))
    while waiting:
        model = waiting.pop()
        if model.folder not in models:
            models[model.folder] = model
            below = (repository.model(step.model_name) for step in model.config.ensemble_scheduling.step)
            waiting += [step_model for step_model in below if step_model]
    return list(models.values())


def is_served(model: Model) -> bool:
    """Whether ``model`` is one of :func:`served_models`."""
    names = (served.folder for served in served_models(model.repository))
    return model.folder in model.repository.once("names of served models", lambda: set(names))


def inner_models(repository: Repository) -> list[Model]:
    """The models that one load starts besides the served one."""
    return [model for model in loaded_models(repository) if not is_served(model)]
