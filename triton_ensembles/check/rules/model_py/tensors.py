"""The tensors that model.py names, compared with those of its config.pbtxt."""

import ast
from collections.abc import Iterator
from contextlib import suppress

from triton_ensembles.check.examples import HEAD, ensemble, io_tensor, python_model, script_model, step
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.python.flow import When, flow_of
from triton_ensembles.check.python.kinds import REQUEST
from triton_ensembles.check.python.source import UTILS, PythonFile, all_files, argument, every_file, model_files
from triton_ensembles.check.python.types import types_of
from triton_ensembles.check.python.values import texts_of
from triton_ensembles.check.repository import Model, Repository
from triton_ensembles.check.rule import Example, rule
from triton_ensembles.check.text.unknown import UnknownValueError
from triton_ensembles.spelling import listed, nearest

# Measured on 2.51.0, through SageMaker's route.
_DROPPED = "the answer lacks it (status 200, no such output)"
_STEP_FAILS = "every request fails at the next step of the ensemble: expected 1 inputs but got 0 inputs"
_SOURCE_OF_OUTPUTS = "python_backend r24.10 pb_stub.cc: outputs that were not requested are dropped; measured on 2.51.0"
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
    files = list(every_file(model))
    read = [
        texts_of(file, argument(call, 1, "name")) for file in files for call, name in file.calls() if name in _READS
    ]
    names = {name for each in read for name in each or ()}
    unread = None not in read and any(each.name not in names for each in model.config.input)
    for file in files:
        completed = completed_names(file)
        for call, name in file.calls():
            if name not in _READS:
                continue
            if completed is None or not _surely_runs(file, call) or not needs_result(file, call, unread):
                continue
            for wanted in texts_of(file, argument(call, 1, "name")) or ():
                if wanted not in known | completed:
                    yield Finding(
                        file.place(call),
                        f"the config has no input '{wanted}'; it has {listed(known)}",
                        f"{name.rpartition('.')[2]} returns None, and the request fails where it is used: "
                        "'NoneType' object has no attribute 'as_numpy'",
                        _corrected(file, call, wanted, nearest(wanted, known)),
                    )


@rule(
    "model.py takes no more inputs by number than the config has",
    source="measured on 2.51.0: inputs() has the inputs of the request",
    bad=script_model(_BODY.replace('pb_utils.get_input_tensor_by_name(request, "X")', "request.inputs()[1]")),
)
def model_py_input_number(model: Model) -> Iterator[Finding]:
    most = len(model.config.input) + len(_controls(model))
    if not model.config.input or model.is_completed:
        return
    for file in every_file(model):
        for call, _ in file.calls():
            parent = flow_of(file).parents.get(call)
            number = parent.slice if isinstance(parent, ast.Subscript) and parent.value is call else None
            if not isinstance(number, ast.Constant) or not isinstance(number.value, int) or number.value < most:
                continue
            asked = isinstance(call.func, ast.Attribute) and call.func.attr == "inputs" and not call.args
            holder = types_of(file).kind(call.func.value) if asked and isinstance(call.func, ast.Attribute) else None
            if holder and holder.name == REQUEST and completed_names(file) == frozenset() and _surely_runs(file, call):
                yield Finding(
                    file.place(call),
                    f"this takes input {number.value} of the request, counted from 0, and the config has {most}",
                    "the model loads, and every request fails: IndexError: list index out of range",
                    "take inputs by their names: pb_utils.get_input_tensor_by_name(request, name)",
                )


_MISNAMED = _BODY.replace('Tensor("Y"', 'Tensor("y"')


@rule(
    "A step of an ensemble makes only outputs that its config has",
    source=_SOURCE_OF_OUTPUTS,
    bad=Example(
        ensemble(step("misnames", {"X": "X"}, {"Y": "T"}), step("scale", {"X": "T"}, {"Y": "Y"})),
        beside={"misnames/config.pbtxt": python_model(), "misnames/1/model.py": f"{HEAD}{_MISNAMED}"},
    ),
    good=Example(ensemble(step("scale", {"X": "X"}, {"Y": "T"}), step("scale", {"X": "T"}, {"Y": "Y"}))),
)
def model_py_output_name(model: Model) -> Iterator[Finding]:
    """An error where the next step gets nothing; elsewhere Triton answers, see model-py-output-dropped."""
    yield from _misnamed(model, needed=True)


@rule(
    "model.py makes only outputs that the config has",
    source=_SOURCE_OF_OUTPUTS,
    bad=script_model(_MISNAMED),
    severity=Severity.WARNING,
)
def model_py_output_dropped(model: Model) -> Iterator[Finding]:
    yield from _misnamed(model, needed=False)


def _misnamed(model: Model, needed: bool) -> Iterator[Finding]:
    known = {each.name for each in model.config.output} | {
        each.output_name for each in model.config.sequence_batching.state
    }
    if not model.config.output or model.is_completed:
        return
    for first in model_files(model):
        files = all_files(model, first)
        made = _all_made(files)
        if made is None or bool(_needed_outputs(model) - made) is not needed:
            continue
        for file in files:
            completed = completed_names(file)
            for call, names in _made(file):
                if completed is None or known <= made or not _surely_runs(file, call):
                    continue  # a tensor too many is dropped, and the answer is complete
                for wanted in names or ():
                    if wanted not in known | completed:
                        yield Finding(
                            file.place(call),
                            f"the config has no output '{wanted}'; it has {listed(known)}",
                            _STEP_FAILS if needed else _DROPPED,
                            _corrected(file, call, wanted, nearest(wanted, known)),
                        )


def _needed_outputs(model: Model) -> set[str]:
    """The outputs that another step of an ensemble of the repository reads."""
    key = "outputs that steps read"
    if key not in model.repository.cache:
        model.repository.cache[key] = _read_outputs(model.repository)
    found: set[str] = model.repository.cache[key].get(model.name, set())
    return found & {each.name for each in model.config.output}


def _read_outputs(repository: Repository) -> dict[str, set[str]]:
    """By the name of the model."""
    found: dict[str, set[str]] = {}
    for each in repository.models:
        with suppress(UnknownValueError):
            steps = each.config.ensemble_scheduling.step if each.is_ensemble else ()
            read = {tensor for step in steps for tensor in step.input_map.values()}
            for each_step in steps:
                outputs = (output for output, tensor in each_step.output_map.items() if tensor in read)
                found.setdefault(each_step.model_name, set()).update(outputs)
    return found


@rule(
    "model.py makes all the outputs that the config has",
    source="python_backend r24.10 pb_stub.cc; measured on 2.51.0",
    bad=script_model(_BODY, f"output [ {io_tensor('MASK')} ]"),
    severity=Severity.WARNING,
)
def model_py_output_missing(model: Model) -> Iterator[Finding]:
    for first in model_files(model):
        files = all_files(model, first)
        made = _all_made(files)
        # A name that the config does not have is a misspelled one, which model-py-output-name reports.
        known = {each.name for each in model.config.output}
        if made is None or not made <= known or any(completed_names(file) is None for file in files):
            continue
        if not made and not _makes_none(files):
            continue
        for number, output in enumerate(model.config.output):
            if output.name not in made and output.name:
                yield Finding(
                    model.at("output", number, "name"),
                    f"{first.path} never makes the output '{output.name}'; it makes {listed(made)}",
                    _DROPPED,
                    f'add pb_utils.Tensor("{output.name}", …) to the response, or delete the output from config.pbtxt',
                )


def completed_names(file: PythonFile) -> frozenset[str] | None:
    """Names that ``auto_complete_config`` may add to the config; None when they are not known."""
    for node in file.nodes:
        if isinstance(node, ast.FunctionDef) and node.name == "auto_complete_config":
            adds = [call for call, _ in file.calls(node) if isinstance(call.func, ast.Attribute)]
            if any(
                call.func.attr in ("add_input", "add_output") for call in adds if isinstance(call.func, ast.Attribute)
            ):
                texts = (each.value for each in ast.walk(file.module or node) if isinstance(each, ast.Constant))
                return frozenset(text for text in texts if isinstance(text, str))
    return frozenset()


def _surely_runs(file: PythonFile, call: ast.Call) -> bool:
    return flow_of(file).when(call, loops_run=True) in (When.LOAD, When.REQUEST)


def needs_result(file: PythonFile, call: ast.Call, unread: bool) -> bool:
    """Whether None, which an unknown name gives, is surely not expected.

    It is used at once, or only so; or it is never compared, and there is an input that nothing reads (``unread``).
    """
    parents = flow_of(file).parents
    parent = parents.get(call)
    if isinstance(parent, ast.Attribute | ast.Subscript):
        return True
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return isinstance(parent, ast.Call) and unread
    function = flow_of(file).function(call)
    name = parent.targets[0].id
    uses = flow_of(file).names(function, name)
    around = [parents.get(each) for each in uses if isinstance(each.ctx, ast.Load)]
    if around and all(isinstance(each, ast.Attribute | ast.Subscript) for each in around):
        return True
    return (
        unread and bool(around) and all(isinstance(each, ast.Attribute | ast.Subscript | ast.Call) for each in around)
    )


def _all_made(files: list[PythonFile]) -> set[str] | None:
    """The names of all tensors that are made; None when they are not known."""
    found = [names for file in files for _, names in _made(file)]
    if None in found or any(file.module is None for file in files) or any(map(_is_opaque, files)):
        return None
    return {name for names in found for name in names or ()}


def _makes_none(files: list[PythonFile]) -> bool:
    """Whether it is sure that no response has a tensor: all of them are made here, and without one."""
    calls = [call for file in files for call, name in file.calls() if name == f"{UTILS}.InferenceResponse"]
    calls = [call for call in calls if argument(call, 1, "error") is None]  # a model may mean to refuse everything
    outputs = [argument(call, 0, "output_tensors") for call in calls]
    empty = all(each is None or (isinstance(each, ast.List) and not each.elts) for each in outputs)
    hidden = any(keyword.arg is None for call in calls for keyword in call.keywords)
    starred = any(isinstance(each, ast.Starred) for call in calls for each in call.args)
    return bool(calls) and empty and not hidden and not starred and not any(map(_hides_responses, files))


def _hides_responses(file: PythonFile) -> bool:
    """Whether responses may be made in a way that calls do not show."""
    called = {id(call.func) for call, _ in file.calls()}
    for node in file.nodes:
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            return True
        passed = isinstance(node, ast.Name | ast.Attribute) and id(node) not in called
        if passed and file.full_name(node) == f"{UTILS}.InferenceResponse":  # type: ignore[arg-type]
            return True
    return False


def _made(file: PythonFile) -> Iterator[tuple[ast.Call, tuple[str, ...] | None]]:
    """Calls of ``pb_utils.Tensor`` for responses, with the names when they are known.

    In a file that also makes requests to other models, a tensor may be an input of those.
    """
    calls = list(file.calls())
    if any(name == f"{UTILS}.InferenceRequest" for _, name in calls):
        return
    for call, name in calls:
        if name in (f"{UTILS}.Tensor", f"{UTILS}.Tensor.from_dlpack"):
            yield call, texts_of(file, argument(call, 0, "name"))


def _is_opaque(file: PythonFile) -> bool:
    """Whether tensors may be made in a way that calls do not show: the class passed on, or requests of BLS."""
    called = {id(call.func) for call, _ in file.calls()}
    called |= {id(call.func.value) for call, _ in file.calls() if isinstance(call.func, ast.Attribute)}
    for node in file.nodes:
        passed = isinstance(node, ast.Name | ast.Attribute) and id(node) not in called
        if passed and file.full_name(node) == f"{UTILS}.Tensor":  # type: ignore[arg-type]
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
