"""The dtypes of the arrays that model.py answers with, where it says them."""

import ast
from collections.abc import Iterator

from triton_ensembles.check.examples import io_tensor, python_model, script_model
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.python.flow import CLASS, When, flow_of
from triton_ensembles.check.python.kinds import ARRAY, COMPLEX, TEXTS
from triton_ensembles.check.python.source import UTILS, PythonFile, argument, every_file
from triton_ensembles.check.python.types import types_of
from triton_ensembles.check.python.values import text_of
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import Example, rule
from triton_ensembles.check.rules.config.tensors import type_name
from triton_ensembles.check.rules.model_py.model_class import EXECUTE
from triton_ensembles.check.rules.model_py.names import FAILS, LATER
from triton_ensembles.check.rules.model_py.tensors import completed_names

_TEXT_OUTPUT = io_tensor("Y", "STRING")
GOOD = script_model(f"class {CLASS}:\n{EXECUTE}")


def _answering(change: str, outputs: str) -> Example:
    code = EXECUTE.replace("x.as_numpy()", f"x.as_numpy(){change}")
    head = "import triton_python_backend_utils as pb_utils\n\n\n"
    return Example(python_model(outputs=outputs), {"1/model.py": f"{head}class {CLASS}:\n{code}"})


@rule(
    "The arrays of tensors have dtypes that Triton knows",
    source="python_backend r24.10 src/pb_stub_utils.cc numpy_to_triton_type; measured on 2.51.0",
    bad=_answering(".astype(str)", _TEXT_OUTPUT),
    good=_answering(".astype(object)", _TEXT_OUTPUT),
)
def model_py_array_dtype(model: Model) -> Iterator[Finding]:
    for file, call, dtype in _tensors(model):
        when = flow_of(file).when(call, loops_run=True)
        if dtype in (TEXTS, COMPLEX) and when is not When.PERHAPS:
            yield Finding(
                file.place(call),
                f"this array has the dtype {dtype}, which Triton does not take",
                f"{FAILS.get(when, LATER)}: NumPy dtype is not supported",
                "make it an array of objects: astype(object), or np.array(…, dtype=object)"
                if dtype == TEXTS
                else "send its real and imaginary parts",
            )


@rule(
    "The outputs of model.py have the data types that the config says",
    source="measured on 2.51.0: the answer has the array's own type, and the next step of an ensemble refuses it",
    bad=_answering('.astype("float64")', io_tensor("Y")),
    severity=Severity.WARNING,
)
def model_py_output_dtype(model: Model) -> Iterator[Finding]:
    wanted = {each.name: type_name(each.data_type).removeprefix("TYPE_") for each in model.config.output}
    if model.is_completed:
        return
    for file, call, dtype in _tensors(model):
        asked = any(name == f"{UTILS}.InferenceRequest" for _, name in file.calls())
        name = text_of(file, argument(call, 0, "name"))
        says = wanted.get(name or "", "INVALID").replace("STRING", "BYTES")
        if asked or completed_names(file) != frozenset() or dtype in ("", TEXTS, COMPLEX, says) or says == "INVALID":
            continue
        if flow_of(file).when(call, loops_run=True) is not When.PERHAPS:
            yield Finding(
                file.place(call),
                f"the array of '{name}' is of type {dtype}, and the config says {says}",
                f"the answer has {dtype}; a step of an ensemble that gets it refuses it: inference input data-type is "
                f"'{dtype}', model expects '{says}'",
                f"write astype of the type that the config has, or data_type: TYPE_{dtype.replace('BYTES', 'STRING')}",
            )


def _tensors(model: Model) -> Iterator[tuple[PythonFile, ast.Call, str]]:
    """Each pb_utils.Tensor with the dtype of its array."""
    for file in every_file(model):
        for call, name in file.calls():
            found = types_of(file).kind(argument(call, 1, "")) if name == f"{UTILS}.Tensor" else None
            if found and found.name == ARRAY and found.dtype:
                yield file, call, found.dtype
