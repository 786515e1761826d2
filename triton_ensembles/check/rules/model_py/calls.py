"""The models that a model.py calls itself (business logic scripting, BLS)."""

from collections.abc import Iterator

from triton_ensembles.check.examples import script_model
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.python.flow import CLASS, When, flow_of
from triton_ensembles.check.python.source import UTILS, argument, every_file
from triton_ensembles.check.python.values import texts_of
from triton_ensembles.check.repository import Form, Repository
from triton_ensembles.check.rule import rule
from triton_ensembles.check.rules.model_py.model_class import EXECUTE
from triton_ensembles.check.rules.sagemaker.served import for_sagemaker
from triton_ensembles.spelling import nearest
from triton_ensembles.triton.destination import Destination


def _calling(name: str) -> str:
    return f"""\
class {CLASS}:
    def execute(self, requests):
        inner = pb_utils.InferenceRequest(model_name="{name}", requested_output_names=["Y"], inputs=[])
        return [inner.exec() for _ in requests]
"""


@rule(
    "Every model that a model.py calls is in the repository",
    source="python_backend r24.10 src/request_executor.cc; measured on 2.51.0",
    bad=script_model(_calling("detector")),
    good=script_model(f"class {CLASS}:\n{EXECUTE}"),
    severity=Severity.WARNING,
)
def model_py_called_model(repositories: tuple[Repository, ...], destination: Destination) -> Iterator[Finding]:
    known = {name for each in repositories for model in each.models for name in (model.folder, model.name)}
    for repository in repositories:
        if repository.is_one_model or repository.form is Form.ARCHIVE or for_sagemaker(repository, destination):
            continue
        for model in repository.models:
            for file in every_file(model):
                if b"load_model" in file.data:  # it may bring its models itself
                    continue
                for call, name in file.calls():
                    if name != f"{UTILS}.InferenceRequest":
                        continue
                    called = texts_of(file, argument(call, 4, "model_name"))
                    for wanted in called or ():
                        if wanted in known or flow_of(file).when(call, loops_run=True) is When.PERHAPS:
                            continue
                        meant = nearest(wanted, known)
                        yield Finding(
                            file.place(call),
                            f"this calls the model '{wanted}', which is not in the repository",
                            "unless another repository of the server has it, the request fails: Failed for execute "
                            f"the inference request. Model '{wanted}' is not ready",
                            f"did you mean '{meant}'?" if meant else "add the model, or correct the name",
                        )
