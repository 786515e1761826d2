"""The keys that model.py takes from the arguments of initialize and from the config in them."""

import ast
from collections.abc import Iterable, Iterator

from triton_ensembles.checking.python.examples import class_model, initializing
from triton_ensembles.checking.python.expected import is_guarded
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.kinds import ARGUMENTS, Kind
from triton_ensembles.checking.python.nodes import argument, is_changed, name_of
from triton_ensembles.checking.python.source import UTILS, PythonFile, every_call, every_file
from triton_ensembles.checking.python.tensor_names import completed_names, needs_result, output_names
from triton_ensembles.checking.python.types import types_of
from triton_ensembles.checking.python.values import text_of, texts_of
from triton_ensembles.checking.rule import Finding, Model, rule
from triton_ensembles.checking.tensors import ELEMENT_BYTES
from triton_ensembles.ground.spelling import listed, nearest, only_near, suggestion
from triton_ensembles.triton.model_config import ModelConfig

SOURCE = "python_backend r24.10 src/python_be.cc; core r24.10 ModelConfigToJson; measured on 2.51.0"
GOOD = class_model()
_FIELDS = ModelConfig.DESCRIPTOR.fields_by_name
_KEYS: dict[Kind | None, frozenset[str]] = {
    Kind.ARGS: ARGUMENTS,
    Kind.CONFIG: frozenset(_FIELDS),
    Kind.IO: frozenset({*_FIELDS["input"].message_type.fields_by_name, *_FIELDS["output"].message_type.fields_by_name}),
    Kind.PARAMETER: frozenset({"string_value"}),
}
_USUAL = {
    **{name: f"model_{name}" for name in ("config", "version", "name", "repository")},
    "device_id": "model_instance_device_id",
    "value": "string_value",
}
_IMPORT = "import json\n\n\n"
_TYPES = {*ELEMENT_BYTES, "TYPE_STRING"} - {"TYPE_BF16"}


@rule(
    "initialize takes from its arguments and from the config only what is there",
    bad=initializing('self.version = args["version"]', head=_IMPORT),
    words="KeyError: 'version'",
)
def model_py_unknown_key(model: Model) -> Iterator[Finding]:
    for file in every_file(model):
        for node, dictionary, key, error in _reads(file):
            holder = types_of(file).kind(dictionary)
            known = _parameters(model) if holder is Kind.PARAMETERS else _KEYS.get(holder)
            if holder is None or known is None or key in known:
                continue
            when = flow_of(file).when(node, loops_run=True)
            if when.is_certain and not _is_filled(file, dictionary, key):
                has = "have" if holder in (Kind.ARGS, Kind.PARAMETERS) else "has"
                message = f"{holder} {has} no '{key}'"
                yield Finding(file.place(node), message, f"{when.effect}: {error}", _meant(key, known, holder))


def _reads(file: PythonFile) -> Iterator[tuple[ast.expr, ast.expr, str, str]]:
    """The places that fail without a key: each with the dictionary, the key and the error of Python."""
    for node in file.nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and not is_changed(node):
            if isinstance(node.slice.value, str):
                yield node, node.value, node.slice.value, f"KeyError: '{node.slice.value}'"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            key = text_of(file, node.args[0]) if len(node.args) == 1 and not node.keywords else None
            if key and _is_used(file, node) and types_of(file).kind(node.func.value) is not Kind.PARAMETERS:
                yield node, node.func.value, key, "TypeError, because get gives None"


def _is_used(file: PythonFile, call: ast.Call) -> bool:
    """Whether None in place of what the call gives is an error at once: ``json.loads(args.get("config"))``."""
    parent = flow_of(file).parents.get(call)
    is_json = isinstance(parent, ast.Call) and file.full_name(parent.func) == "json.loads"
    return is_json or isinstance(parent, ast.Attribute | ast.Subscript)


def _meant(key: str, known: Iterable[str], holder: Kind) -> str:
    names = sorted(known)
    usual = _USUAL.get(key)
    meant = usual if usual in names else nearest(key, names)
    if meant:
        return f"did you mean '{meant}'?"
    if holder is Kind.PARAMETERS:
        return f'add parameters {{ key: "{key}", value: {{ string_value: "…" }} }} to config.pbtxt'
    return f"it has {listed(names)}"


def _parameters(model: Model) -> frozenset[str] | None:
    """The parameters of config.pbtxt; None where the build may add some."""
    if model.repository.recipe is not None or model.is_completed:
        return None
    return frozenset(model.config.parameters)


def _is_filled(file: PythonFile, node: ast.expr, key: str) -> bool:
    """Whether the file puts the key into some dictionary itself, or asks for it."""
    name = name_of(node)
    for part in file.nodes:
        fills = False
        if isinstance(part, ast.Subscript) and is_changed(part):
            fills = text_of(file, part.slice) in (key, None)
        elif isinstance(part, ast.Compare):
            fills = isinstance(part.left, ast.Constant) and part.left.value == key
        elif isinstance(part, ast.Attribute) and part.attr in ("update", "setdefault"):
            fills = bool(name) and name_of(part.value) == name
        if fills:
            return True
    return False


@rule(
    "model.py asks for the configs of outputs that there are",
    source="python_backend r24.10 triton_python_backend_utils.py get_output_config_by_name; measured on 2.51.0",
    bad=initializing(
        'self.type = pb_utils.get_output_config_by_name(json.loads(args["model_config"]), "y")["data_type"]',
        head=_IMPORT,
    ),
    words="TypeError: 'NoneType' object is not subscriptable",
)
def model_py_output_config(model: Model) -> Iterator[Finding]:
    known = output_names(model)
    if not model.config.output or model.is_completed:
        return
    for file in every_file(model):
        completed = completed_names(file)
        for call, function in file.calls():
            if function != f"{UTILS}.get_output_config_by_name" or is_guarded(file):
                continue
            when = flow_of(file).when(call, loops_run=True)
            if not when.is_certain or not needs_result(file, call, False):
                continue
            for name in texts_of(file, argument(call, 1, "name")) or ():
                if name not in known | completed:
                    message = f"the config has no output '{name}'; it has {listed(known)}"
                    effect = f"{when.effect}: TypeError: 'NoneType' object is not subscriptable"
                    cure = suggestion(name, known) or "write one of these names"
                    edits = file.renamed(argument(call, 1, "name"), name, only_near(name, known))
                    yield Finding(file.place(call), message, effect, cure, edits=edits)


@rule(
    "triton_string_to_numpy gets a data type as the config has it",
    source="python_backend r24.10 triton_python_backend_utils.py TRITON_STRING_TO_NUMPY; measured on 2.51.0",
    bad=initializing('self.type = pb_utils.triton_string_to_numpy("FP32")', head=_IMPORT),
    words="KeyError: 'FP32'",
)
def model_py_type_name(model: Model) -> Iterator[Finding]:
    for file, call, name in every_call(model):
        if name != f"{UTILS}.triton_string_to_numpy" or is_guarded(file):
            continue
        data_type = text_of(file, argument(call, 0, "triton_type_string"))
        when = flow_of(file).when(call, loops_run=True)
        if data_type is None or data_type in _TYPES or not when.is_certain:
            continue
        usual = {"TYPE_BYTES": "TYPE_STRING", "BYTES": "TYPE_STRING"}.get(data_type)
        exact = usual or (f"TYPE_{data_type}" if f"TYPE_{data_type}" in _TYPES else only_near(data_type, _TYPES))
        meant = exact or nearest(data_type, _TYPES)
        edits = file.renamed(argument(call, 0, "triton_type_string"), data_type, exact)
        message = f"triton_string_to_numpy knows no type '{data_type}'"
        cure = f"write '{meant}'" if meant else f"it knows {listed(_TYPES, 15)}"
        yield Finding(file.place(call), message, f"{when.effect}: KeyError: '{data_type}'", cure, edits=edits)
