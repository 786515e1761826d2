"""The models that a model.py calls on its own (business logic scripting, BLS)."""

from collections.abc import Iterator

from triton_ensembles.checking.python.examples import CALLING, class_model
from triton_ensembles.checking.python.flow import When, flow_of
from triton_ensembles.checking.python.nodes import argument
from triton_ensembles.checking.python.source import UTILS, every_file
from triton_ensembles.checking.python.values import texts_of
from triton_ensembles.checking.rule import Destination, Finding, Repository, warning
from triton_ensembles.checking.sagemaker import for_sagemaker
from triton_ensembles.ground.spelling import nearest


@warning(
    "Every model that a model.py calls is in the repository",
    source="python_backend r24.10 src/request_executor.cc; measured on 2.51.0",
    bad=class_model(CALLING.format("detector")),
    good=class_model(),
)
def model_py_called_model(repositories: tuple[Repository, ...], destination: Destination) -> Iterator[Finding]:
    models = [model for repository in repositories for model in repository.models]
    known = {name for model in models for name in (model.folder, model.name)}
    for repository in repositories:
        if repository.is_one_model or repository.is_archive or for_sagemaker(repository, destination):
            continue
        for model in repository.models:
            for file in every_file(model):
                if b"load_model" in file.data:  # it may bring its own models
                    continue
                for call, name in file.calls():
                    if name != f"{UTILS}.InferenceRequest":
                        continue
                    for called in texts_of(file, argument(call, 4, "model_name")) or ():
                        if called in known or flow_of(file).when(call, loops_run=True) is When.PERHAPS:
                            continue
                        meant = nearest(called, known)
                        yield Finding(
                            file.place(call),
                            f"this calls the model '{called}', which is not in the repository",
                            "unless another repository of the server has it, the request fails: Failed for execute "
                            f"the inference request. Model '{called}' is not ready",
                            f"did you mean '{meant}'?" if meant else "add the model, or correct the name",
                        )
