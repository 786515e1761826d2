"""The methods and attributes of the model's own class: those that Triton calls, and those that nothing sets."""

import ast
from collections.abc import Iterator

from triton_ensembles.check.examples import script_model
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.python.flow import CLASS, Function, When, flow_of
from triton_ensembles.check.python.source import PythonFile, every_file, model_files
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import rule
from triton_ensembles.check.rules.model_py.model_class import EXECUTE
from triton_ensembles.check.rules.model_py.names import FAILS, is_expected
from triton_ensembles.spelling import nearest

SOURCE = 'python_backend r24.10 src/pb_stub.cc: hasattr(model_instance_, "initialize"); measured on 2.51.0'
GOOD = script_model(f"class {CLASS}:\n{EXECUTE}")
_CALLED = ("initialize", "finalize", "auto_complete_config")
_HELPED = EXECUTE.replace("x.as_numpy()", "self.scale(x.as_numpy())")
_SCALED = EXECUTE.replace("x.as_numpy()", "x.as_numpy() * self.factor")


@rule(
    f"Triton calls the methods of {CLASS} by their names",
    bad=script_model(f"class {CLASS}:\n    def initialise(self, args):\n        self.factor = 2\n\n{EXECUTE}"),
    severity=Severity.WARNING,
)
def model_py_method_name(model: Model) -> Iterator[Finding]:
    for file in model_files(model):
        for method, meant in _misspelt(file):
            if not _needed(file, {method}):  # model-py-attribute: every request fails
                yield Finding(
                    file.place(method),
                    f"nothing calls the method {method.name}",
                    f"Triton looks for {meant}, finds none, and goes on without it",
                    f"rename it to {meant}",
                )


def _misspelt(file: PythonFile) -> Iterator[tuple[Function, str]]:
    flow = flow_of(file)
    for each in flow.lineage[:1]:
        defined = {node.name for node in each.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        missing = [name for name in _CALLED if flow.method(name) is None]
        for node in each.body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.decorator_list:
                continue
            meant = nearest(node.name.strip("_"), missing)
            meant = meant or ("initialize" if node.name == "init" and "initialize" in missing else None)
            if meant and node.name not in (*_CALLED, "__init__", "execute") and not flow.is_used(node.name) and defined:
                yield node, meant


@rule(
    f"{CLASS} sets the attributes that execute reads",
    source="measured on 2.51.0",
    bad=script_model(f"class {CLASS}:\n    def initialise(self, args):\n        self.factor = 2\n\n{_SCALED}"),
)
def model_py_attribute(model: Model) -> Iterator[Finding]:
    for file in model_files(model):
        misspelt = dict(_misspelt(file))
        for node in _needed(file, set(misspelt)):
            setters = [method for method in misspelt if _sets(method, node.attr)]
            meant = nearest(node.attr, _own_names(file))
            yield Finding(
                file.place(node),
                f"nothing sets self.{node.attr}" + (f" but {setters[0].name}, which nothing calls" if setters else ""),
                "the model loads, and every request fails: "
                f"AttributeError: '{CLASS}' object has no attribute '{node.attr}'",
                f"rename {setters[0].name} to {misspelt[setters[0]]}"
                if setters
                else f"did you mean self.{meant}?"
                if meant
                else "set it in initialize",
            )


@rule(
    "model.py calls its own functions with the arguments that they take",
    source="measured on 2.51.0",
    bad=script_model(f"class {CLASS}:\n{_HELPED}    def scale(x):\n        return x * 2\n"),
)
def model_py_helper_arguments(model: Model) -> Iterator[Finding]:
    for file in every_file(model):
        flow = flow_of(file)
        for call, _ in file.calls():
            helper = flow.helper(call)
            if helper is None or (when := flow.when(call, loops_run=True)) not in FAILS or is_expected(file, call):
                continue
            own = int(isinstance(call.func, ast.Attribute))
            if not _fits(helper, call, own):
                taken = len(helper.args.posonlyargs) + len(helper.args.args)
                yield Finding(
                    file.place(call),
                    f"{helper.name} (line {helper.lineno}) does not take these arguments",
                    f"{FAILS[when]}: TypeError",
                    "write self as its first argument" if own and not taken else "correct the call, or what it takes",
                )


def _fits(function: Function, call: ast.Call, own: int) -> bool:
    """Whether a call gives a function what it takes; true where ``*`` or ``**`` hide it."""
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return True
    takes = function.args
    plain = [each.arg for each in (*takes.posonlyargs, *takes.args)]
    given = len(call.args) + own
    if given > len(plain) and takes.vararg is None:
        return False
    named = {each.arg for each in call.keywords if each.arg}
    by_name = {*plain[max(given, len(takes.posonlyargs)) :], *(each.arg for each in takes.kwonlyargs)}
    if named - by_name and takes.kwarg is None:
        return False
    required = plain[: len(plain) - len(takes.defaults)][given:]
    required += [each.arg for each, default in zip(takes.kwonlyargs, takes.kw_defaults, strict=True) if default is None]
    return set(required) <= named


@rule(
    "super() has the methods that model.py calls on it",
    source=f"{SOURCE}; {CLASS} needs no base class, and Triton has none",
    bad=script_model(f"class {CLASS}:\n    def initialize(self, args):\n        super().initialize(args)\n\n{EXECUTE}"),
    words="AttributeError: 'super' object has no attribute 'initialize'",
)
def model_py_super(model: Model) -> Iterator[Finding]:
    for file in model_files(model):
        flow = flow_of(file)
        if not flow.lineage or not has_plain_bases(file):
            continue
        for call, _ in file.calls(flow.lineage[0]):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            held = call.func.value if isinstance(call.func, ast.Attribute) else None
            is_super = isinstance(held, ast.Call) and isinstance(held.func, ast.Name) and held.func.id == "super"
            inherited = {
                node.name for each in flow.lineage[1:] for node in each.body if isinstance(node, ast.FunctionDef)
            }
            when = flow.when(call, loops_run=True)
            if is_super and when in FAILS and name not in inherited and not hasattr(object, name):
                yield Finding(
                    file.place(call),
                    f"no base class of {CLASS} has a method {name}",
                    f"{FAILS[when]}: AttributeError: 'super' object has no attribute '{name}'",
                    "remove the line",
                )


def _needed(file: PythonFile, without: set[Function]) -> list[ast.Attribute]:
    """The first uses in execute of attributes that nothing sets, leaving out some methods."""
    flow = flow_of(file)
    execute = flow.method("execute")
    if execute is None or len(execute.args.args) < 2 or not _is_whole(file):  # see model-py-execute-arguments
        return []
    known = _own_names(file, without)
    found: dict[str, ast.Attribute] = {}
    for node in file.nodes:
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load) or node.attr in found:
            continue
        of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
        if of_self and node.attr not in known and not hasattr(object, node.attr):
            function = flow.function(node)
            own = function is not None and flow.parents.get(function) in flow.lineage
            if own and flow.when(node, loops_run=True) is When.REQUEST:
                found[node.attr] = node
    return list(found.values())


def _own_names(file: PythonFile, without: set[Function] | None = None) -> set[str]:
    """All attributes that the file sets on whatever object, and what its classes define."""
    flow = flow_of(file)
    found: set[str] = set()
    for node in file.nodes:
        stored = isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
        if stored and not (without and flow.function(node) in without):
            found.add(node.attr)  # type: ignore[attr-defined]
    for each in flow.lineage:
        for inner in ast.walk(each):
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(inner.name)
            elif isinstance(inner, ast.Name | ast.alias) and flow.function(inner) is flow.function(each):
                found.add(inner.id if isinstance(inner, ast.Name) else inner.asname or inner.name)
    return found


def _sets(method: Function, name: str) -> bool:
    stores = (node for node in ast.walk(method) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    return any(node.attr == name for node in stores)


def _is_whole(file: PythonFile) -> bool:
    """Whether the class is complete in this file, and sets its attributes only as one sees them."""
    hidden = (b"setattr", b"__dict__", b"__getattr", b"hasattr", b"__slots__", b"vars(", b"locals(", b"__new__")
    decorated = any(each.decorator_list or each.keywords for each in flow_of(file).lineage)
    parents = flow_of(file).parents
    selves = (parents.get(node) for node in file.nodes if isinstance(node, ast.Name) and node.id == "self")
    passed = any(not isinstance(parent, ast.Attribute) for parent in selves)  # somebody else may set attributes
    return has_plain_bases(file) and not decorated and not passed and not any(word in file.data for word in hidden)


def has_plain_bases(file: PythonFile) -> bool:
    last = flow_of(file).lineage[-1]
    return all(isinstance(base, ast.Name) and base.id in ("object", "ABC") for base in last.bases)
