"""The tensors that model.py names, compared with those of its config.pbtxt."""

import ast
from collections.abc import Iterator

from triton_ensembles.check.examples import io_tensor, script_model
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.python_source import UTILS, PythonFile, all_files, argument, every_file, model_files
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import rule
from triton_ensembles.spelling import listed, nearest

# Measured on 2.51.0, through SageMaker's route.
_DROPPED = (
    "the answer lacks it (status 200, no such output); in an ensemble the next step fails: expected 1 inputs but got "
    "0 inputs"
)
_BODY = """\
class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)]))
        return responses
"""


GOOD = script_model(_BODY)


def _controls(model: Model) -> set[str]:
    """Inputs that are not under ``input``: those of the sequence batcher and of its states."""
    batching = model.config.sequence_batching
    return {each.name for each in batching.control_input} | {each.input_name for each in batching.state}


@rule(
    "model.py reads only inputs that the config has",
    source="python_backend r24.10 triton_python_backend_utils.py get_input_tensor_by_name; measured on 2.51.0",
    bad=script_model(_BODY.replace('"X"', '"INPUT"')),
)
def model_py_input_name(model: Model) -> Iterator[Finding]:
    known = {each.name for each in model.config.input} | _controls(model)
    if not model.config.input or model.is_completed:
        return
    for file in every_file(model):
        for call, name in file.calls():
            if name != f"{UTILS}.get_input_tensor_by_name" and name != f"{UTILS}.get_input_config_by_name":
                continue
            wanted = file.text(argument(call, 1, "name"))
            if wanted is None or wanted in known:
                continue
            meant = nearest(wanted, known)
            yield Finding(
                file.place(call),
                f"the config has no input '{wanted}'; it has {listed(known)}",
                f"{name.rpartition('.')[2]} returns None, and the request fails where it is used: "
                "'NoneType' object has no attribute 'as_numpy'",
                _corrected(file, call, wanted, meant),
            )


@rule(
    "model.py makes only outputs that the config has",
    source="python_backend r24.10 pb_stub.cc: outputs that were not requested are dropped; measured on 2.51.0",
    bad=script_model(_BODY.replace('Tensor("Y"', 'Tensor("y"')),
)
def model_py_output_name(model: Model) -> Iterator[Finding]:
    known = {each.name for each in model.config.output} | {
        each.output_name for each in model.config.sequence_batching.state
    }
    if not model.config.output or model.is_completed:
        return
    for file in every_file(model):
        for call, wanted in _made(file):
            if wanted is not None and wanted not in known:
                meant = nearest(wanted, known)
                yield Finding(
                    file.place(call),
                    f"the config has no output '{wanted}'; it has {listed(known)}",
                    _DROPPED,
                    _corrected(file, call, wanted, meant),
                )


@rule(
    "model.py makes all the outputs that the config has",
    source="python_backend r24.10 pb_stub.cc; measured on 2.51.0",
    bad=script_model(_BODY, f"output [ {io_tensor('MASK')} ]"),
    severity=Severity.WARNING,
)
def model_py_output_missing(model: Model) -> Iterator[Finding]:
    for first in model_files(model):
        files = all_files(model, first)
        made = [name for file in files for _, name in _made(file)]
        if not made or None in made or any(file.module is None for file in files) or any(map(_is_opaque, files)):
            continue
        # A name that the config does not have is a misspelled one, which model-py-output-name reports.
        known = {each.name for each in model.config.output}
        if not set(made) <= known:
            continue
        for number, output in enumerate(model.config.output):
            if output.name not in made and output.name:
                yield Finding(
                    model.at("output", number, "name"),
                    f"{first.path} never makes the output '{output.name}'; it makes {listed(set(filter(None, made)))}",
                    _DROPPED,
                    f'add pb_utils.Tensor("{output.name}", …) to the response, or delete the output from config.pbtxt',
                )


def _made(file: PythonFile) -> Iterator[tuple[ast.Call, str | None]]:
    """Calls of ``pb_utils.Tensor`` for responses, with the name when it is known.

    In a file that also makes requests to other models, a tensor may be an input of those.
    """
    calls = list(file.calls())
    if any(name == f"{UTILS}.InferenceRequest" for _, name in calls):
        return
    for call, name in calls:
        if name in (f"{UTILS}.Tensor", f"{UTILS}.Tensor.from_dlpack"):
            yield call, file.text(argument(call, 0, "name"))


def _is_opaque(file: PythonFile) -> bool:
    """Whether tensors may be made in a way that calls do not show: the class passed on, or requests of BLS."""
    called = {id(call.func) for call, _ in file.calls()}
    for node in ast.walk(file.module) if file.module else ():
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in called:
            name = file.full_name(node)
            if name == f"{UTILS}.Tensor" and not any(
                isinstance(call.func, ast.Attribute) and call.func.value is node for call, _ in file.calls()
            ):
                return True
    return any(name == f"{UTILS}.InferenceRequest" for _, name in file.calls())


def _corrected(file: PythonFile, call: ast.Call, wrong: str, meant: str | None) -> str:
    """The line with the name that was meant."""
    if not meant:
        return "write one of these names, or add the tensor to config.pbtxt"
    lines = file.data.decode("utf-8", "replace").splitlines()
    line = lines[call.lineno - 1].strip() if call.lineno <= len(lines) else ""
    for quote in ('"', "'"):
        if line.count(f"{quote}{wrong}{quote}") == 1 and len(line) < 200:
            return line.replace(f"{quote}{wrong}{quote}", f"{quote}{meant}{quote}")
    return f"did you mean '{meant}'?"
