"""What model.py takes from the arguments of initialize and from the config in them."""

import ast
from collections.abc import Iterable, Iterator

from triton_ensembles.check.examples import script_model
from triton_ensembles.check.fault import Finding
from triton_ensembles.check.python.flow import CLASS, When, flow_of
from triton_ensembles.check.python.kinds import ARGS, ARGUMENTS, CONFIG, IO, PARAMETER, PARAMETERS
from triton_ensembles.check.python.source import UTILS, PythonFile, argument, every_file
from triton_ensembles.check.python.types import types_of
from triton_ensembles.check.python.values import text_of, texts_of
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import rule
from triton_ensembles.check.rules.model_py.model_class import EXECUTE
from triton_ensembles.check.rules.model_py.names import FAILS, is_guarded
from triton_ensembles.check.rules.model_py.tensors import completed_names, needs_result
from triton_ensembles.spelling import listed, nearest
from triton_ensembles.triton.model_config import ModelConfig

SOURCE = "python_backend r24.10 src/python_be.cc; core r24.10 ModelConfigToJson; measured on 2.51.0"
GOOD = script_model(f"class {CLASS}:\n{EXECUTE}")
_FIELDS = ModelConfig.DESCRIPTOR.fields_by_name
_KEYS: dict[str, frozenset[str]] = {
    ARGS: ARGUMENTS,
    CONFIG: frozenset(_FIELDS),
    IO: frozenset({*_FIELDS["input"].message_type.fields_by_name, *_FIELDS["output"].message_type.fields_by_name}),
    PARAMETER: frozenset({"string_value"}),
}
_USUAL = {
    **{name: f"model_{name}" for name in ("config", "version", "name", "repository")},
    "device_id": "model_instance_device_id",
    "value": "string_value",
}
_CONFIG = 'json.loads(args["model_config"])'
_TYPES = frozenset(
    {"TYPE_BOOL", "TYPE_FP16", "TYPE_FP32", "TYPE_FP64", "TYPE_STRING"}
    | {f"TYPE_{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
)


def _initializing(line: str) -> str:
    return f"import json\n\n\nclass {CLASS}:\n    def initialize(self, args):\n        {line}\n\n{EXECUTE}"


@rule(
    "initialize takes from its arguments and from the config only what is there",
    bad=script_model(_initializing('self.version = args["version"]')),
    words="KeyError: 'version'",
)
def model_py_unknown_key(model: Model) -> Iterator[Finding]:
    for file in every_file(model):
        for node in file.nodes:
            if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
                continue
            holder = types_of(file).kind(node.value)
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if holder is None or not isinstance(key, str) or (when := _when(file, node)) not in FAILS:
                continue
            known = _parameters(model) if holder.name == PARAMETERS else _KEYS.get(holder.name)
            if known is None or key in known or _is_filled(file, node.value, key):
                continue
            yield Finding(
                file.place(node),
                f"{holder.name} {'have' if holder.name in (ARGS, PARAMETERS) else 'has'} no '{key}'",
                f"{FAILS[when]}: KeyError: '{key}'",
                _meant(key, known, holder.name),
            )
        for call, _ in file.calls():
            yield from _unknown_get(file, call)


def _unknown_get(file: PythonFile, call: ast.Call) -> Iterator[Finding]:
    """``json.loads(args.get("config"))``: a key that is not there, whose None is used at once."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "get" or len(call.args) != 1 or call.keywords:
        return
    holder, key = types_of(file).kind(call.func.value), text_of(file, call.args[0])
    parent = flow_of(file).parents.get(call)
    used = isinstance(parent, ast.Attribute | ast.Subscript)
    used = used or (isinstance(parent, ast.Call) and file.full_name(parent.func) == "json.loads")
    if holder and holder.name in _KEYS and key and key not in _KEYS[holder.name] and used:
        when = _when(file, call)
        if when in FAILS and not _is_filled(file, call.func.value, key):
            yield Finding(
                file.place(call),
                f"{holder.name} {'have' if holder.name == ARGS else 'has'} no '{key}'",
                f"{FAILS[when]}: TypeError, because get gives None",
                _meant(key, _KEYS[holder.name], holder.name),
            )


def _meant(key: str, known: Iterable[str], holder: str) -> str:
    names = sorted(known)
    usual = _USUAL.get(key)
    meant = usual if usual in names else nearest(key, names)
    if meant:
        return f"did you mean '{meant}'?"
    if holder == PARAMETERS:
        return f'add parameters {{ key: "{key}", value: {{ string_value: "…" }} }} to config.pbtxt'
    return f"it has {listed(names)}"


def _parameters(model: Model) -> frozenset[str] | None:
    """The parameters of config.pbtxt; None where the build may add some."""
    if model.repository.recipe is not None or model.is_completed:
        return None
    return frozenset(model.config.parameters)


def _is_filled(file: PythonFile, node: ast.expr, key: str) -> bool:
    """Whether the file puts the key into some dictionary itself, or asks for it."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    for each in file.nodes:
        if isinstance(each, ast.Subscript) and not isinstance(each.ctx, ast.Load):
            if text_of(file, each.slice) in (key, None):
                return True
        elif isinstance(each, ast.Compare):
            if isinstance(each.left, ast.Constant) and each.left.value == key:
                return True
        elif isinstance(each, ast.Attribute) and each.attr in ("update", "setdefault") and name:
            held = each.value
            if name in (getattr(held, "id", ""), getattr(held, "attr", "")):
                return True
    return False


def _when(file: PythonFile, node: ast.AST) -> When:
    return flow_of(file).when(node, loops_run=True)


@rule(
    "model.py asks for the configs of outputs that there are",
    source="python_backend r24.10 triton_python_backend_utils.py get_output_config_by_name; measured on 2.51.0",
    bad=script_model(
        _initializing(
            'self.type = pb_utils.get_output_config_by_name(json.loads(args["model_config"]), "y")["data_type"]'
        )
    ),
    words="TypeError: 'NoneType' object is not subscriptable",
)
def model_py_output_config(model: Model) -> Iterator[Finding]:
    known = {each.name for each in model.config.output}
    known |= {each.output_name for each in model.config.sequence_batching.state}
    if not model.config.output or model.is_completed:
        return
    for file in every_file(model):
        completed = completed_names(file)
        for call, name in file.calls():
            if name != f"{UTILS}.get_output_config_by_name" or completed is None or is_guarded(file):
                continue
            when = _when(file, call)
            if when not in FAILS or not needs_result(file, call, False):
                continue
            for wanted in texts_of(file, argument(call, 1, "name")) or ():
                if wanted not in known | completed:
                    meant = nearest(wanted, known)
                    yield Finding(
                        file.place(call),
                        f"the config has no output '{wanted}'; it has {listed(known)}",
                        f"{FAILS[when]}: TypeError: 'NoneType' object is not subscriptable",
                        f"did you mean '{meant}'?" if meant else "write one of these names",
                    )


@rule(
    "triton_string_to_numpy gets a data type as the config has it",
    source="python_backend r24.10 triton_python_backend_utils.py TRITON_STRING_TO_NUMPY; measured on 2.51.0",
    bad=script_model(_initializing('self.type = pb_utils.triton_string_to_numpy("FP32")')),
    words="KeyError: 'FP32'",
)
def model_py_type_name(model: Model) -> Iterator[Finding]:
    for file in every_file(model):
        for call, name in file.calls():
            if name != f"{UTILS}.triton_string_to_numpy" or is_guarded(file):
                continue
            given = text_of(file, argument(call, 0, "triton_type_string"))
            when = _when(file, call)
            if given is None or given in _TYPES or when not in FAILS:
                continue
            usual = {"TYPE_BYTES": "TYPE_STRING", "BYTES": "TYPE_STRING"}.get(given)
            meant = usual or (f"TYPE_{given}" if f"TYPE_{given}" in _TYPES else nearest(given, _TYPES))
            yield Finding(
                file.place(call),
                f"triton_string_to_numpy knows no type '{given}'",
                f"{FAILS[when]}: KeyError: '{given}'",
                f"write '{meant}'" if meant else f"it knows {listed(_TYPES, 15)}",
            )
