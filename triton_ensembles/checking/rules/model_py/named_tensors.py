"""The tensors that model.py reads and makes, compared with those of its config.pbtxt: names, and dtypes of arrays."""

import ast
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from triton_ensembles.checking.config_tensors import sequence_inputs
from triton_ensembles.checking.examples import HEAD, Y, ensemble, io_tensor, python_model, script_model, step
from triton_ensembles.checking.python.dtypes import TEXTS, dtype_of_array
from triton_ensembles.checking.python.examples import EXECUTE, class_model
from triton_ensembles.checking.python.flow import When, flow_of
from triton_ensembles.checking.python.model_calls import REQUEST
from triton_ensembles.checking.python.nodes import argument, is_changed, method_of
from triton_ensembles.checking.python.source import UTILS, PythonFile, all_files, every_call, model_files
from triton_ensembles.checking.python.values import text_of, texts_of
from triton_ensembles.checking.rule import Example, Finding, Model, Repository, Severity, rule, warning
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.spelling import listed, only_near, suggestion
from triton_ensembles.triton.model_config import datatype_of

_TENSOR = f"{UTILS}.Tensor"
# Measured on 2.51.0, through SageMaker's route.
_WITHOUT_OUTPUT = {  # by whether another step of an ensemble reads it
    True: ("every request fails at the next step of the ensemble: expected 1 inputs but got 0 inputs", None),
    False: ("the answer lacks it (status 200, no such output)", Severity.WARNING),
}
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
_OPTIONAL = python_model(inputs=io_tensor("X", more="optional: true"))
_ASKED = '"X")\n            x = None if x is None else x.as_numpy()'


def _before_another(name: str, code: str, output: str = "Y", outputs: str = Y) -> Example:
    """Return an ensemble with a step ``name`` that has this model.py, and one that reads its output."""
    config = ensemble(step(name, {"X": "X"}, {output: "T"}), step("scale", {"X": "T"}, {"Y": "Y"}))
    return Example(config, beside={f"{name}/config.pbtxt": python_model(outputs=outputs), f"{name}/1/model.py": code})


def _converted(how: str) -> dict[str, str | None]:
    """Return the model.py of a model that answers with its input, ``how`` converted."""
    return dict(class_model(EXECUTE.replace("x.as_numpy()", f"x.as_numpy(){how}")).files or {})


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
        if not _runs(file, call) or not _needs_result(file, call, has_unread):
            continue
        for name in names or ():
            if name not in known | _completed_names(file):
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
        if name is None or not _runs(file, call) or not _needs_result(file, call, False):
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
    bad=_before_another("misnames", HEAD + _BODY.replace('Tensor("Y"', 'Tensor("y"')),
    good=Example(ensemble(step("scale", {"X": "X"}, {"Y": "T"}), step("scale", {"X": "T"}, {"Y": "Y"}))),
)
def model_py_output_name(model: Model) -> Iterator[Finding]:
    """Yield an error where the next step gets nothing; elsewhere Triton answers without the output."""
    known = _output_names(model)
    for _, tensors, made in _versions(model) if model.config.output and not model.is_completed else ():
        if known <= made:
            continue  # a tensor too many is dropped, and the answer is complete
        effect, severity = _WITHOUT_OUTPUT[not _needed_outputs(model) <= made]
        for file, call, names in tensors:
            for name in names if _runs(file, call) else ():
                if name not in known | _completed_names(file):
                    message = f"the config has no output '{name}'; it has {listed(known)}"
                    edits = file.renamed(argument(call, 0, "name"), name, only_near(name, known - made))
                    yield Finding(file.place(call), message, effect, _corrected(name, known), severity, edits)


@rule(
    "model.py makes all the outputs that the config has",
    source="python_backend r24.10 pb_stub.cc; measured on 2.51.0",
    lower=Severity.WARNING,
    bad=_before_another("lacks", HEAD + _BODY, output="MASK", outputs=f"{Y}, {io_tensor('MASK')}"),
)
def model_py_output_missing(model: Model) -> Iterator[Finding]:
    for first, _, made in _versions(model):
        # A name that the config does not have is a misspelled one, which model-py-output-name reports.
        if not made or not made <= {output.name for output in model.config.output}:
            continue
        for number, output in enumerate(model.config.output):
            if output.name and output.name not in made:
                message = f"{first.path} never makes the output '{output.name}'; it makes {listed(made)}"
                addition = f'add pb_utils.Tensor("{output.name}", …) to the response'
                cure = f"{addition}, or delete the output from config.pbtxt"
                effect, severity = _WITHOUT_OUTPUT[output.name in _needed_outputs(model)]
                yield Finding(model.at("output", number, "name"), message, effect, cure, severity)


@rule(
    "The arrays of tensors have dtypes that Triton knows",
    source="python_backend r24.10 src/pb_stub_utils.cc numpy_to_triton_type; measured on 2.51.0",
    bad=Example(python_model(outputs=io_tensor("Y", "STRING")), _converted(".astype(str)")),
    good=Example(python_model(outputs=io_tensor("Y", "STRING")), _converted(".astype(object)")),
)
def model_py_array_dtype(model: Model) -> Iterator[Finding]:
    for file, call, dtype in _arrays(model):
        when = flow_of(file).when(call, loops_run=True)
        if dtype == TEXTS and when is not When.PERHAPS:
            message = f"this array has the dtype {dtype}, which Triton does not take"
            cure = "make it an array of objects: astype(object), or np.array(…, dtype=object)"
            yield Finding(file.place(call), message, f"{when.effect}: NumPy dtype is not supported", cure)


@rule(
    "The outputs of model.py have the data types that the config says",
    source="measured on 2.51.0: the answer has the array's own type, and the next step of an ensemble refuses it",
    lower=Severity.WARNING,
    bad=_before_another("widens", str(_converted(".astype(float)")["1/model.py"])),
    good=class_model(),
)
def model_py_output_dtype(model: Model) -> Iterator[Finding]:
    types = {output.name: datatype_of(output.data_type) for output in model.config.output}
    for file, call, dtype in _arrays(model) if not model.is_completed else ():
        name = text_of(file, argument(call, 0, "name"))
        says = types.get(name or "", "INVALID")
        if says == "INVALID" or dtype in (TEXTS, says) or _completed_names(file) or REQUEST in file.called:
            continue
        when = flow_of(file).when(call, loops_run=True)
        if when is not When.PERHAPS:
            message = f"the array of '{name}' is of type {dtype}, and the config says {says}"
            is_needed = name in _needed_outputs(model) and when is When.REQUEST
            effect = f"a step that gets it refuses it: inference input data-type is '{dtype}', model expects '{says}'"
            cure = f"write astype of the config's type, or data_type: TYPE_{dtype.replace('BYTES', 'STRING')}"
            yield Finding(file.place(call), message, effect, cure, None if is_needed else Severity.WARNING)


def _arrays(model: Model) -> Iterator[tuple[PythonFile, ast.Call, str]]:
    """Yield the calls of pb_utils.Tensor, each with the dtype of its array where that is known."""
    for file, call, name in every_call(model):
        dtype = dtype_of_array(file, argument(call, 1, "")) if name == _TENSOR else ""
        if dtype:
            yield file, call, dtype


def _runs(file: PythonFile, call: ast.Call) -> bool:
    return flow_of(file).when(call, loops_run=True).is_certain


class _Made(NamedTuple):
    """A tensor that model.py makes, and the names that it may have."""

    file: PythonFile
    call: ast.Call
    names: tuple[str, ...]


def _versions(model: Model) -> Iterator[tuple[PythonFile, list[_Made], set[str]]]:
    """Yield model.py of each version of which all tensors are known, with these and their names: of those whose files
    call other models, none, as a tensor may be an input of these."""
    for first in model_files(model):
        files = all_files(model, first)
        if any(file.module is None or REQUEST in file.called or _passes_class(file) for file in files):
            continue
        calls = [
            (file, call) for file in files for call, name in file.calls if name in (_TENSOR, f"{_TENSOR}.from_dlpack")
        ]
        tensors = [_Made(file, call, texts_of(file, argument(call, 0, "name")) or ()) for file, call in calls]
        if all(made.names for made in tensors):
            yield first, tensors, {name for made in tensors for name in made.names}


def _passes_class(file: PythonFile) -> bool:
    """Return whether tensors may be made in a way that calls do not show: by whoever gets the class itself."""
    classes = (node for node in file.nodes if isinstance(node, ast.Name | ast.Attribute))
    parents = ((node, file.scopes.parents.get(node)) for node in classes if file.full_name(node) == _TENSOR)
    return any(
        not isinstance(parent, ast.Attribute) and getattr(parent, "func", None) is not node for node, parent in parents
    )


def _corrected(wrong: str, known: Collection[str]) -> str:
    return suggestion(wrong, known) or "write one of these names, or add the tensor to config.pbtxt"


def _output_names(model: Model) -> set[str]:
    """Return the names of the outputs that model.py may make, those of the sequence batcher's states among them."""
    states = model.config.sequence_batching.state
    return {output.name for output in model.config.output} | {state.output_name for state in states}


@lru_cache(maxsize=128)
def _completed_names(file: PythonFile) -> frozenset[str]:
    """Return the names that ``auto_complete_config`` may add to the config: all texts of a file that adds some."""
    adds = any(method_of(call) in ("add_input", "add_output") for call, _ in file.calls)
    if "auto_complete_config" not in file.scopes.members or not adds:
        return frozenset()
    texts = (node.value for node in file.nodes if isinstance(node, ast.Constant))
    return frozenset(text for text in texts if isinstance(text, str))


def _needs_result(file: PythonFile, call: ast.Call, has_unread: bool) -> bool:
    """Return whether None, which an unknown name gives, is certainly not expected.

    It is used at once, or only so; or it is never compared, and there is an input that nothing reads (``has_unread``).
    """
    scopes = file.scopes
    parent = scopes.parents.get(call)
    if isinstance(parent, ast.Attribute | ast.Subscript):
        return True
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return isinstance(parent, ast.Call) and has_unread
    names = scopes.names(scopes.function(call), parent.targets[0].id)
    uses = [scopes.parents.get(name) for name in names if not is_changed(name)]
    expected = ast.Attribute | ast.Subscript | ast.Call if has_unread else ast.Attribute | ast.Subscript
    return bool(uses) and all(isinstance(use, expected) for use in uses)


def _needed_outputs(model: Model) -> set[str]:
    """Return the outputs that another step of an ensemble of the repository reads."""
    outputs = model.repository.once("outputs that steps read", lambda: _read_outputs(model.repository))
    return outputs.get(model.name, set()) & {output.name for output in model.config.output}


def _read_outputs(repository: Repository) -> dict[str, set[str]]:
    """Return the outputs of each model, by its name, that a step of an ensemble reads."""
    outputs: dict[str, set[str]] = {}
    for model in repository.models:
        with suppress(UnknownValueError):
            steps = model.config.ensemble_scheduling.step if model.is_ensemble else ()
            read = {tensor for member in steps for tensor in member.input_map.values()}
            for member in steps:
                names = (output for output, tensor in member.output_map.items() if tensor in read)
                outputs.setdefault(member.model_name, set()).update(names)
    return outputs
