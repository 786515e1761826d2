"""What SageMaker's multi-model front end makes of a repository: server r24.10 src/sagemaker_server.cc.

Its rules hold for archives, for folders of ensembles/ (which become archives), and for any repository when the target
names an instance type. A plain model repository for a plain tritonserver is free of them.
"""

from __future__ import annotations

from triton_ensembles.check.form import Form
from triton_ensembles.check.model import Model
from triton_ensembles.check.repository import Repository
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.sagemaker_contract import ENSEMBLE

SOURCE = "server r24.10 src/sagemaker_server.cc"
LOAD = f"{SOURCE} SageMakerMMELoadModel"


def for_sagemaker(repository: Repository, target: Destination) -> bool:
    return repository.form in (Form.ARCHIVE, Form.SOURCE) or bool(target.instance)


def is_archive(repository: Repository) -> bool:
    return repository.form is Form.ARCHIVE


def is_packed(repository: Repository, target: Destination) -> bool:
    """An archive, or a folder that will be packed as it is: one that is checked for an instance of SageMaker."""
    return is_archive(repository) or (repository.form is Form.FOLDER and bool(target.instance))


def picked(repository: Repository) -> list[Model]:
    """The models that the front end may take for the endpoint's model, by its own way of looking."""
    if repository.is_one_model or len(repository.models) <= 1:
        return list(repository.models)
    return [model for model in repository.models if ENSEMBLE.search(model.file.text)] or list(repository.models)


def reached(repository: Repository) -> list[Model]:
    """The models that one load brings up: the picked one and, below an ensemble, its steps."""
    found: dict[str, Model] = {}
    waiting = list(picked(repository))
    while waiting:
        model = waiting.pop()
        if model.folder in found:
            continue
        found[model.folder] = model
        for step in model.config.ensemble_scheduling.step:
            if below := repository.model(step.model_name):
                waiting.append(below)
    return list(found.values())
