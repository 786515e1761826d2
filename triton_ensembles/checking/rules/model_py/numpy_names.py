"""Names that model.py takes from numpy, which is never imported here: whether the step's numpy has them."""

import ast
import re
from collections.abc import Iterator

from triton_ensembles.checking.environments import environment_of, reference
from triton_ensembles.checking.packages import packages_of
from triton_ensembles.checking.python.examples import EXECUTE, class_model
from triton_ensembles.checking.python.expected import is_expected
from triton_ensembles.checking.python.flow import When, flow_of
from triton_ensembles.checking.python.kinds import Kind
from triton_ensembles.checking.python.name_table import DTYPES, NUMPY, Version, taken_names
from triton_ensembles.checking.python.nodes import argument
from triton_ensembles.checking.python.source import PythonFile, every_file
from triton_ensembles.checking.python.types import types_of
from triton_ensembles.checking.rule import Destination, Finding, Model, rule
from triton_ensembles.ground.spelling import nearest
from triton_ensembles.triton.releases import dotted, image_of, version

SOURCE = "numpy's wheels of 1.17 to 2.4, asked for their names: numpy_names.txt"
_WORD = re.compile(r"[A-Za-z][A-Za-z_]+\d*_?")  # what dtypes are called that are not of a short form
# The numpy of an image's Python: the newest below numpy 2 of its time, for Python 3.10 and later.
_OF_IMAGES: tuple[Version, ...] = ((1, 24), (1, 25), (1, 26))
_SINCE_NUMPY2: tuple[Version, ...] = ((2, 0), (2, 1), (2, 2), (2, 3), (2, 4))
_TYPES = {"FP16": "float16", "FP32": "float32", "FP64": "float64", "STRING": "object", "BYTES": "object"}
_HEAD = "import numpy as np\n\n\n"
GOOD = class_model(f"    ONES = np.ones(4, np.float32)\n\n{EXECUTE}", _HEAD)


@rule(
    "numpy has the names that model.py takes from it",
    bad=class_model(f"    ONES = np.ones(4, np.float23)\n\n{EXECUTE}", _HEAD),
    words="module 'numpy' has no attribute 'float23'",
)
def model_py_numpy_name(model: Model) -> Iterator[Finding]:
    written = _version(model)
    own = NUMPY.version(written)
    for file in every_file(model) if own or not written else ():
        for node, module, name in _taken(file):
            when = flow_of(file).when(node, loops_run=True)
            is_gone = own is not None and when.is_certain and not NUMPY.has(module, name, own)
            if (is_gone or not NUMPY.spans(module, name)) and when is not When.PERHAPS:
                yield _finding(file, node, module, name, when, own)


@rule(
    "The numpy of Triton's Python has the names that model.py takes from it",
    bad=class_model(f"    KIND = np.float\n\n{EXECUTE}", _HEAD),
    words="module 'numpy' has no attribute 'float'",
)
def model_py_numpy_version(model: Model, destination: Destination) -> Iterator[Finding]:
    image = image_of(destination)
    if reference(model) or _version(model) or (destination.image and not (image and version(image.python) >= (3, 10))):
        return
    possible = _OF_IMAGES + (_SINCE_NUMPY2 if image and image.reads_numpy2 else ())
    for file in every_file(model):
        for node, module, name in _taken(file):
            when = flow_of(file).when(node, loops_run=True)
            is_known = bool(NUMPY.spans(module, name))
            if is_known and when.is_certain and not any(NUMPY.has(module, name, release) for release in possible):
                yield _finding(file, node, module, name, when, None)


def _version(model: Model) -> str:
    """The version of numpy in the step's own environment, "" when it has none or it is not known."""
    packed = environment_of(model) if reference(model) else next(iter(packages_of(model)), None)
    return packed.versions.get("numpy", "") if packed else ""


def _finding(file: PythonFile, node: ast.AST, module: str, name: str, when: When, own: Version | None) -> Finding:
    spans = NUMPY.spans(module, name)
    newest = NUMPY.names(module, NUMPY.newest)
    meant = nearest(name, (known for known in newest if known[0].lower() == name[0].lower()))
    if module == DTYPES:
        message = f"numpy has no dtype '{name}'"
        effect = f"{when.effect}: TypeError: data type '{name}' not understood"
        cure = f"write '{_TYPES.get(name.removeprefix('TYPE_')) or meant or 'float32'}'"
        return Finding(file.place(node), message, effect, cure)
    effect = f"{when.effect}: module '{module}' has no attribute '{name}'"
    if not spans:
        cure = f"did you mean '{meant}'?" if meant else "correct the name, or import what has it"
        return Finding(file.place(node), f"no version of numpy has '{module}.{name}'", effect, cure)
    span = " and ".join(f"from {dotted(first)} to {dotted(last)}" for first, last in spans)
    has = f"numpy {dotted(own)} of the environment" if own else "numpy of Triton's Python (1.24 to 1.26)"
    cure = "write it with what both have, or give the step an environment with another numpy"
    if name in ("float", "int", "bool", "object", "str", "complex"):
        cure = f"write {name}, which is the same"
    return Finding(file.place(node), f"{has} has no '{module}.{name}', which is {span}", effect, cure)


def _taken(file: PythonFile) -> Iterator[tuple[ast.AST, str, str]]:
    """The nodes that take a name from numpy, each with the module of numpy (or :data:`DTYPES`) and the name."""
    if b"numpy" not in file.data:
        return
    for node, module, name in taken_names(file, NUMPY.modules):
        if not is_expected(file, node):
            yield node, module, name
    for call, called in file.calls():
        dtype = _dtype(file, call, called)
        if dtype and _WORD.fullmatch(dtype) and not NUMPY.spans(DTYPES, dtype):
            yield call, DTYPES, dtype


def _dtype(file: PythonFile, call: ast.Call, name: str) -> str:
    """The text that a call gives numpy as a dtype, "" for none."""
    node: ast.expr | None = None
    if name.startswith("numpy."):
        node = next((keyword.value for keyword in call.keywords if keyword.arg == "dtype"), None)
    elif isinstance(call.func, ast.Attribute) and call.func.attr == "astype":
        node = argument(call, 0, "dtype") if types_of(file).kind(call.func.value) is Kind.ARRAY else None
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
