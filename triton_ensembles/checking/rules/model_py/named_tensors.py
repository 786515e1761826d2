"""The tensors that model.py names, compared with those of its config.pbtxt."""

import ast
from collections.abc import Collection, Iterator

from triton_ensembles.checking.config_tensors import sequence_inputs
from triton_ensembles.checking.examples import HEAD, Y, ensemble, io_tensor, python_model, script_model, step
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.nodes import argument, method_of
from triton_ensembles.checking.python.source import UTILS, PythonFile, all_files, every_call, model_files
from triton_ensembles.checking.python.tensor_names import completed_names, needed_outputs, needs_result, output_names
from triton_ensembles.checking.python.values import texts_of
from triton_ensembles.checking.rule import Example, Finding, Model, Severity, rule, warning
from triton_ensembles.ground.spelling import listed, only_near, suggestion

# Measured on 2.51.0, through SageMaker's route.
_DROPPED = "the answer lacks it (status 200, no such output)"
_STEP_FAILS = "every request fails at the next step of the ensemble: expected 1 inputs but got 0 inputs"
_READS = (f"{UTILS}.get_input_tensor_by_name", f"{UTILS}.get_input_config_by_name")
_BODY = """\
class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)]))
        return responses
"""
_MASKED = f"{Y}, {io_tensor('MASK')}"
_MISNAMED = _BODY.replace('Tensor("Y"', 'Tensor("y"')
GOOD = script_model(_BODY)
_OPTIONAL = python_model(inputs=io_tensor("X", more="optional: true"))
_ASKED = '"X")\n            x = None if x is None else x.as_numpy()'


@rule(
    "model.py reads only inputs that the config has",
    source="python_backend r24.10 triton_python_backend_utils.py get_input_tensor_by_name; measured on 2.51.0",
    bad=script_model(_BODY.replace('"X"', '"INPUT"')),
)
def model_py_input_name(model: Model) -> Iterator[Finding]:
    known = {tensor.name for tensor in model.config.input} | sequence_inputs(model)
    if not model.config.input or model.is_completed:
        return
    reads = [
        (file, call, texts_of(file, argument(call, 1, "name")))
        for file, call, function in every_call(model)
        if function in _READS
    ]
    read = {name for *_, names in reads for name in names or ()}
    is_known = all(names is not None for *_, names in reads)
    has_unread = is_known and any(tensor.name not in read for tensor in model.config.input)
    for file, call, names in reads:
        if not _runs(file, call) or not needs_result(file, call, has_unread):
            continue
        for name in names or ():
            if name not in known | completed_names(file):
                message = f"the config has no input '{name}'; it has {listed(known)}"
                effect = "its tensor is None, so the request fails: 'NoneType' object has no attribute 'as_numpy'"
                cure = _corrected(name, known)
                edits = file.renamed(argument(call, 1, "name"), name, only_near(name, known - read))
                yield Finding(file.place(call), message, effect, cure, edits=edits)


@warning(
    "model.py asks for None before it uses an optional input",
    source="python_backend r24.10 triton_python_backend_utils.py get_input_tensor_by_name; measured on 2.51.0",
    bad=Example(_OPTIONAL, {"1/model.py": HEAD + _BODY}),
    good=Example(_OPTIONAL, {"1/model.py": HEAD + _BODY.replace('"X").as_numpy()', _ASKED)}),
)
def model_py_optional_input(model: Model) -> Iterator[Finding]:
    optional = {tensor.name for tensor in model.config.input if tensor.optional}
    for file, call, function in every_call(model) if optional else ():
        names = texts_of(file, argument(call, 1, "name")) if function == _READS[0] else None
        name = next((name for name in names or () if name in optional), None)
        if name is None or not _runs(file, call) or not needs_result(file, call, False):
            continue
        if any(method_of(counted) == "inputs" for counted, _ in file.calls):
            continue  # which may be how it asks what the request has
        message = f"the input '{name}' is optional, and this line uses it without asking for None"
        effect = "a request without it fails: AttributeError: 'NoneType' object has no attribute 'as_numpy'"
        cure = "write if tensor is not None: before its use, or delete optional: true from config.pbtxt"
        yield Finding(file.place(call), message, effect, cure)


@rule(
    "model.py makes only outputs that its config has",
    source="python_backend r24.10 pb_stub.cc: outputs that were not requested are dropped; measured on 2.51.0",
    lower=Severity.WARNING,
    bad=Example(
        ensemble(step("misnames", {"X": "X"}, {"Y": "T"}), step("scale", {"X": "T"}, {"Y": "Y"})),
        beside={"misnames/config.pbtxt": python_model(), "misnames/1/model.py": f"{HEAD}{_MISNAMED}"},
    ),
    good=Example(ensemble(step("scale", {"X": "X"}, {"Y": "T"}), step("scale", {"X": "T"}, {"Y": "Y"}))),
)
def model_py_output_name(model: Model) -> Iterator[Finding]:
    """Yield an error where the next step gets nothing; elsewhere Triton answers without the output."""
    known = output_names(model)
    if not model.config.output or model.is_completed:
        return
    for first in model_files(model):
        files = all_files(model, first)
        outputs = _all_made(files)
        if outputs is None or known <= outputs:
            continue  # a tensor too many is dropped, and the answer is complete
        is_needed = bool(needed_outputs(model) - outputs)
        effect, severity = (_STEP_FAILS, None) if is_needed else (_DROPPED, Severity.WARNING)
        for file, call, names in ((each, *made) for each in files for made in _tensors(each)):
            for name in names or () if _runs(file, call) else ():
                if name not in known | completed_names(file):
                    message = f"the config has no output '{name}'; it has {listed(known)}"
                    edits = file.renamed(argument(call, 0, "name"), name, only_near(name, known - outputs))
                    yield Finding(file.place(call), message, effect, _corrected(name, known), severity, edits)


@rule(
    "model.py makes all the outputs that the config has",
    source="python_backend r24.10 pb_stub.cc; measured on 2.51.0",
    lower=Severity.WARNING,
    bad=Example(
        ensemble(step("lacks", {"X": "X"}, {"MASK": "T"}), step("scale", {"X": "T"}, {"Y": "Y"})),
        beside={
            "lacks/config.pbtxt": python_model(outputs=f"{Y}, {io_tensor('MASK')}"),
            "lacks/1/model.py": HEAD + _BODY,
        },
    ),
)
def model_py_output_missing(model: Model) -> Iterator[Finding]:
    for first in model_files(model):
        files = all_files(model, first)
        outputs = _all_made(files)
        # A name that the config does not have is a misspelled one, which model-py-output-name reports.
        known = {output.name for output in model.config.output}
        if not outputs or not outputs <= known:
            continue
        for number, output in enumerate(model.config.output):
            if output.name not in outputs and output.name:
                message = f"{first.path} never makes the output '{output.name}'; it makes {listed(outputs)}"
                cure = (
                    f'add pb_utils.Tensor("{output.name}", …) to the response, or delete the output from config.pbtxt'
                )
                is_needed = output.name in needed_outputs(model)
                effect, severity = (_STEP_FAILS, None) if is_needed else (_DROPPED, Severity.WARNING)
                yield Finding(model.at("output", number, "name"), message, effect, cure, severity)


def _runs(file: PythonFile, call: ast.Call) -> bool:
    return flow_of(file).when(call, loops_run=True).is_certain


def _all_made(files: list[PythonFile]) -> set[str] | None:
    """Return the names of all tensors that are made; None when they are not known."""
    names = [names for file in files for _, names in _tensors(file)]
    if None in names or any(file.module is None or _is_opaque(file) for file in files):
        return None
    return {name for choices in names for name in choices or ()}


def _is_opaque(file: PythonFile) -> bool:
    """Return whether tensors may be made in a way that calls do not show: the class passed on, or requests of BLS."""
    functions = [call.func for call, _ in file.calls]
    holders = [function.value for function in functions if isinstance(function, ast.Attribute)]
    called = {id(node) for node in (*functions, *holders)}
    names = (node for node in file.nodes if isinstance(node, ast.Name | ast.Attribute) and id(node) not in called)
    return _calls_models(file) or any(file.full_name(node) == f"{UTILS}.Tensor" for node in names)


def _calls_models(file: PythonFile) -> bool:
    return any(name == f"{UTILS}.InferenceRequest" for _, name in file.calls)


def _tensors(file: PythonFile) -> Iterator[tuple[ast.Call, tuple[str, ...] | None]]:
    """Yield calls of ``pb_utils.Tensor``, with the names when they are known, of files that call no other models: there
    a tensor may be an input of those."""
    for call, name in file.calls if not _calls_models(file) else ():
        if name in (f"{UTILS}.Tensor", f"{UTILS}.Tensor.from_dlpack"):
            yield call, texts_of(file, argument(call, 0, "name"))


def _corrected(wrong: str, known: Collection[str]) -> str:
    return suggestion(wrong, known) or "write one of these names, or add the tensor to config.pbtxt"
