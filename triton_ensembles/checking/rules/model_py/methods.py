"""The methods and attributes of the model's own class: those that Triton calls, and those that nothing sets."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.definitions import CLASS, ModelClass, model_class_of
from triton_ensembles.checking.python.examples import EXECUTE, class_model
from triton_ensembles.checking.python.flow import When, flow_of
from triton_ensembles.checking.python.nodes import Function, is_changed, is_name
from triton_ensembles.checking.python.source import PythonFile, model_files
from triton_ensembles.checking.rule import Finding, Model, rule, warning
from triton_ensembles.ground.spelling import nearest, suggestion

SOURCE = 'python_backend r24.10 src/pb_stub.cc: hasattr(model_instance_, "initialize"); measured on 2.51.0'
GOOD = class_model()
_CALLED = ("initialize", "finalize", "auto_complete_config")
_MISSPELT = "    def initialise(self, args):\n        self.factor = 2\n\n"
_SCALED = EXECUTE.replace("x.as_numpy()", "x.as_numpy() * self.factor")
# Signs that attributes are set, or looked for, in a way that the text does not show.
_HIDDEN = frozenset(
    {"setattr", "__setattr__", "__dict__", "__getattr__", "__getattribute__", "hasattr", "__slots__", "vars", "locals"}
    | {"__new__"}
)


@warning(f"Triton calls the methods of {CLASS} by their names", bad=class_model(f"{_MISSPELT}{EXECUTE}"))
def model_py_method_name(model: Model) -> Iterator[Finding]:
    for file in model_files(model):
        for method, meant in _misspelt(file):
            if not _unset(file, {method}):  # model-py-attribute: every request fails
                message = f"nothing calls the method {method.name}"
                effect = f"Triton looks for {meant}, finds none, and continues without it"
                yield Finding(file.place(method), message, effect, f"rename it to {meant}")


def _misspelt(file: PythonFile) -> Iterator[tuple[Function, str]]:
    model_class = model_class_of(file)
    missing = [name for name in _CALLED if model_class.method(name) is None]
    own = model_class.parts[0].node.body if model_class.is_whole else ()  # other bases may call such methods
    for node in own:
        if not isinstance(node, Function) or node.decorator_list or node.name in (*_CALLED, "__init__", "execute"):
            continue
        meant = "initialize" if node.name == "init" else nearest(node.name.strip("_"), missing)
        if meant in missing and not any(flow_of(part).is_used(node.name) for part in file.together):
            yield node, meant


@rule(
    f"{CLASS} sets the attributes that execute reads",
    source="measured on 2.51.0",
    bad=class_model(f"{_MISSPELT}{_SCALED}"),
)
def model_py_attribute(model: Model) -> Iterator[Finding]:
    for file in model_files(model):
        misspelt, setters = dict(_misspelt(file)), _setters(file)
        for home, node in _unset(file, set(misspelt)):
            message = f"nothing sets self.{node.attr}"
            cure = suggestion(node.attr, setters, "did you mean self.{}?") or "set it in initialize"
            for setter in misspelt.keys() & setters.get(node.attr, set()):
                message += f" but {setter.name}, which nothing calls"
                cure = f"rename {setter.name} to {misspelt[setter]}"
            error = f"AttributeError: '{CLASS}' object has no attribute '{node.attr}'"
            yield Finding(home.place(node), message, f"{When.REQUEST.effect}: {error}", cure)


def _unset(file: PythonFile, unused: set[Function]) -> list[tuple[PythonFile, ast.Attribute]]:
    """Return the first uses in execute of attributes that nothing but ``unused`` methods sets, with their files."""
    model_class = model_class_of(file)
    execute = model_class.method("execute")
    if execute is None or len(execute.node.args.args) < 2 or not _sets_all(model_class):
        return []  # of a wrong number of arguments see model-py-execute-arguments
    setters = _setters(file)
    uses: dict[str, tuple[PythonFile, ast.Attribute]] = {}
    classes = [part.node for part in model_class.parts]
    for home in dict.fromkeys(part.file for part in model_class.parts):
        for node in home.nodes:
            if not isinstance(node, ast.Attribute) or is_changed(node) or node.attr in uses:
                continue
            is_set = hasattr(object, node.attr) or bool(setters.get(node.attr, set()) - unused)
            if is_name(node.value, "self") and not is_set:
                function = home.scopes.function(node)
                is_own = function is not None and home.scopes.parents.get(function) in classes
                if is_own and flow_of(home).when(node, loops_run=True) is When.REQUEST:
                    uses[node.attr] = (home, node)
    return list(uses.values())


def _setters(file: PythonFile) -> dict[str, set[Function | None]]:
    """Return all attributes that the model's files set on whatever object, with the functions that do so; None stands
    for what its classes define."""
    setters: dict[str, set[Function | None]] = {}
    for part in file.together:
        for name, nodes in part.scopes.attributes.items():
            setters.setdefault(name, set()).update(map(part.scopes.function, nodes))
    for home, own in model_class_of(file).parts:
        for name in home.scopes.bound_in(own) or ():
            setters.setdefault(name, set()).add(None)
    return setters


def _sets_all(model_class: ModelClass) -> bool:
    """Return whether the class is complete in its files, and sets its attributes only as one sees them."""
    homes = [part.file for part in model_class.parts]
    selves = (home.scopes.parents.get(node) for home in homes for node in home.nodes if is_name(node, "self"))
    is_passed = any(not isinstance(parent, ast.Attribute) for parent in selves)  # somebody else may set attributes
    is_hidden = any(flow_of(home).is_used(name) or name in home.scopes.members for home in homes for name in _HIDDEN)
    return model_class.is_whole and model_class.is_plain and not is_passed and not is_hidden
