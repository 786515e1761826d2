"""The dtypes of the arrays that model.py answers with, where it says them."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.config_tensors import type_name
from triton_ensembles.checking.examples import HEAD, ensemble, io_tensor, python_model, step
from triton_ensembles.checking.python.definitions import CLASS
from triton_ensembles.checking.python.dtypes import TEXTS, dtype_of_array
from triton_ensembles.checking.python.examples import EXECUTE, class_model
from triton_ensembles.checking.python.flow import When, flow_of
from triton_ensembles.checking.python.nodes import argument
from triton_ensembles.checking.python.source import UTILS, PythonFile, every_call
from triton_ensembles.checking.python.tensor_names import completed_names, needed_outputs
from triton_ensembles.checking.python.values import text_of
from triton_ensembles.checking.rule import Example, Finding, Model, Severity, rule

_TEXT_OUTPUT = io_tensor("Y", "STRING")
GOOD = class_model()


def _answering(change: str, outputs: str) -> Example:
    code = EXECUTE.replace("x.as_numpy()", f"x.as_numpy(){change}")
    return Example(python_model(outputs=outputs), {"1/model.py": f"{HEAD}class {CLASS}:\n{code}"})


_WIDE = f"{HEAD}class {CLASS}:\n{EXECUTE.replace('as_numpy()', 'as_numpy().astype(float)')}"


@rule(
    "The arrays of tensors have dtypes that Triton knows",
    source="python_backend r24.10 src/pb_stub_utils.cc numpy_to_triton_type; measured on 2.51.0",
    bad=_answering(".astype(str)", _TEXT_OUTPUT),
    good=_answering(".astype(object)", _TEXT_OUTPUT),
)
def model_py_array_dtype(model: Model) -> Iterator[Finding]:
    for file, call, dtype in _tensors(model):
        when = flow_of(file).when(call, loops_run=True)
        if dtype == TEXTS and when is not When.PERHAPS:
            message = f"this array has the dtype {dtype}, which Triton does not take"
            cure = "make it an array of objects: astype(object), or np.array(…, dtype=object)"
            yield Finding(file.place(call), message, f"{when.effect}: NumPy dtype is not supported", cure)


@rule(
    "The outputs of model.py have the data types that the config says",
    source="measured on 2.51.0: the answer has the array's own type, and the next step of an ensemble refuses it",
    lower=Severity.WARNING,
    bad=Example(
        ensemble(step("widens", {"X": "X"}, {"Y": "T"}), step("scale", {"X": "T"}, {"Y": "Y"})),
        beside={"widens/config.pbtxt": python_model(), "widens/1/model.py": _WIDE},
    ),
)
def model_py_output_dtype(model: Model) -> Iterator[Finding]:
    if model.is_completed:
        return
    types = {output.name: type_name(output.data_type).removeprefix("TYPE_") for output in model.config.output}
    for file, call, dtype in _tensors(model):
        name = text_of(file, argument(call, 0, "name"))
        says = types.get(name or "", "INVALID").replace("STRING", "BYTES")
        if says == "INVALID" or dtype in (TEXTS, says) or completed_names(file):
            continue
        if any(function == f"{UTILS}.InferenceRequest" for _, function in file.calls):
            continue
        if flow_of(file).when(call, loops_run=True) is not When.PERHAPS:
            message = f"the array of '{name}' is of type {dtype}, and the config says {says}"
            is_needed = name in needed_outputs(model) and flow_of(file).when(call, loops_run=True) is When.REQUEST
            effect = f"a step that gets it refuses it: inference input data-type is '{dtype}', model expects '{says}'"
            cure = f"write astype of the config's type, or data_type: TYPE_{dtype.replace('BYTES', 'STRING')}"
            yield Finding(file.place(call), message, effect, cure, None if is_needed else Severity.WARNING)


def _tensors(model: Model) -> Iterator[tuple[PythonFile, ast.Call, str]]:
    """Yield the calls of pb_utils.Tensor, each with the dtype of its array."""
    for file, call, name in every_call(model):
        dtype = dtype_of_array(file, argument(call, 1, "")) if name == f"{UTILS}.Tensor" else ""
        if dtype:
            yield file, call, dtype
