"""model.py of Python models: what the stub needs (python_backend r24.10 src/pb_stub.cc). It is parsed, never run."""

import ast
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import suppress

from triton_ensembles.checking.built_for import severity_at_completion
from triton_ensembles.checking.examples import script_model
from triton_ensembles.checking.loaded_files import file_of
from triton_ensembles.checking.python.definitions import CLASS, Definition, ModelClass, model_class_of
from triton_ensembles.checking.python.examples import EXECUTE, class_model
from triton_ensembles.checking.python.flow import When, flow_of
from triton_ensembles.checking.python.nodes import Function, gives_none, name_of, positional, takes
from triton_ensembles.checking.python.source import every_file, model_files, unread_files
from triton_ensembles.checking.rule import Destination, Finding, Model, Place, Repository, Severity, note, rule, warning
from triton_ensembles.checking.source_budget import MOST_TOKENS
from triton_ensembles.checking.step_python import step_python
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.spelling import most_of, nearest, suggestion
from triton_ensembles.triton.releases import dotted, version

SOURCE = "python_backend r24.10 src/pb_stub.cc"
GOOD = class_model()
_ABSTRACT = f"""from abc import ABC, abstractmethod


class Base(ABC):
    @abstractmethod
    def run(self, x): ...

{EXECUTE}

"""
_OWN_PYTHON = (sys.version_info.major, sys.version_info.minor)


@rule(
    "model.py is valid Python",
    source=f"{SOURCE} StubSetup imports it",
    bad=script_model(f"class {CLASS}\n    def execute(self, requests):\n        return []\n"),
    words="SyntaxError: …",
    lower=Severity.NOTE,
)
def model_py_syntax(model: Model, destination: Destination) -> Iterator[Finding]:
    """Yield a note where a Python that is newer than the checker's runs the file."""
    for file in every_file(model):
        python, error = version(step_python(model, destination)), file.error
        known = file_of(model, file.path) if error else None
        if error is None or (known and known.broken):  # model-file-broken: it is no Python at all
            continue
        if python > _OWN_PYTHON:
            message = f"Python {dotted(_OWN_PYTHON)}, which runs the checker, cannot parse this: {error.message}"
            effect = f"the file was not checked any further; it may be valid for Python {dotted(python)}, which runs it"
            cure = f"run the checker with Python {dotted(python)}"
            yield Finding(file.place(error), message, effect, cure, Severity.NOTE)
            continue
        cure = "correct this line, or an unclosed bracket or quote above it"
        if "outside async function" in error.message:
            cure = "write `async def` where the function begins"
        yield Finding(file.place(error), f"this is not valid Python: {error.message}", cure=cure)


@rule(
    f"model.py has a class {CLASS}",
    source=f"{SOURCE} Initialize",
    bad=script_model("class Model:\n    def execute(self, requests):\n        return []\n"),
    words="AttributeError: module '…' has no attribute 'TritonPythonModel'",
)
def model_py_no_class(model: Model) -> Iterator[Finding]:
    for file in model_files(model):
        if file.module is None or file.scopes.may_bind(file.module, CLASS):
            continue
        classes = {node.name: node for node in file.module.body if isinstance(node, ast.ClassDef)}
        executing = (name for name, node in classes.items() if file.scopes.binders_in(node, "execute"))
        meant = nearest(CLASS, classes) or next(executing, None)
        place = file.place(classes[meant]) if meant else Place(file.shown, 1, 1)
        cure = f"instead of {meant}" if meant else "with a method execute(self, requests)"
        yield Finding(place, f"there is no class {CLASS} in this file", cure=f"write class {CLASS}: {cure}")


@note(
    "The repository's Python files are within the checker's limits",
    source=f"limits of the checker: {MOST_TOKENS:,} names, numbers and signs in one repository, and how deeply they "
    "are nested",
)
def python_unread(repository: Repository) -> Iterator[Finding]:
    for model in repository.models:
        with suppress(UnknownValueError):
            deque(every_file(model), 0)
    unread = list(unread_files(repository))
    if unread:
        several = f"{len(unread)} of the Python files here were not read: {most_of(unread, 20)}"
        message = several if len(unread) > 1 else "this Python file was not read"
        effect = f"nothing of {'their' if len(unread) > 1 else 'its'} code was checked"
        cure = "move data and generated code out of them, or check the models in groups"
        yield Finding(repository.place(unread[0]), message, effect, cure)


@rule(
    f"{CLASS} has a method execute",
    source=f"{SOURCE} ProcessRequests; measured on 2.51.0: the model loads",
    bad=class_model("    def run(self, requests):\n        return []\n"),
)
def model_py_no_execute(model: Model) -> Iterator[Finding]:
    for file in model_files(model):
        model_class = model_class_of(file)
        if not model_class.is_whole or not model_class.is_plain or model_class.may_bind("execute"):
            continue  # they may bring execute
        if any("execute" in part.scopes.attributes or flow_of(part).is_used("setattr") for part in file.together):
            continue
        own = model_class.parts[0].node
        methods = [method.name for method in own.body if isinstance(method, Function)]
        effect = "the model loads, and every request fails: does not implement `execute` method"
        cure = suggestion("execute", methods, "rename {} to execute") or "write def execute(self, requests):"
        yield Finding(file.place(own), f"{CLASS} has no method execute", effect, cure)


@rule(
    f"{CLASS} has the abstract methods of the classes that it inherits from",
    source=f"{SOURCE} Initialize: TritonPythonModel()",
    bad=script_model(_ABSTRACT + f"class {CLASS}(Base):\n    pass\n"),
    words="Can't instantiate abstract class TritonPythonModel with abstract method run",
)
def model_py_abstract(model: Model) -> Iterator[Finding]:
    for file in model_files(model):
        parts = model_class_of(file).parts
        bases = {name_of(base) for _, node in parts for base in (*node.bases, *(key.value for key in node.keywords))}
        if bases.isdisjoint(("ABC", "ABCMeta")) or any(node.decorator_list for _, node in parts):
            continue
        for place, (_, node) in enumerate(parts):
            for method in (part for part in node.body if isinstance(part, Function) and _is_abstract(part)):
                if not ModelClass(parts[:place]).may_bind(method.name):
                    message = f"{CLASS} has no method {method.name}, which is abstract in {node.name}"
                    effect = f"{When.LOAD.effect}: TypeError: Can't instantiate abstract class {CLASS}"
                    cure = f"write def {method.name} in {CLASS}"
                    yield Finding(file.place(parts[0].node), message, effect, cure)


def _is_abstract(method: Function) -> bool:
    return any(name_of(decorator) == "abstractmethod" for decorator in method.decorator_list)


@rule(
    "execute takes self and requests",
    source=f'{SOURCE} ProcessRequests: attr("execute")(py_request_list)',
    bad=class_model("    def execute(self):\n        return self.answers\n"),
)
def model_py_execute_arguments(model: Model) -> Iterator[Finding]:
    return _uncallable(model, "execute", "requests", "the model loads, and every request fails: TypeError")


@rule(
    "initialize takes self and args, and __init__ only self",
    source=f'{SOURCE} Initialize: TritonPythonModel(), attr("initialize")(model_config_params)',
    bad=class_model(f"    def initialize(self):\n        pass\n\n{EXECUTE}"),
    words="TypeError: …initialize() takes 1 positional argument but 2 were given",
)
def model_py_initialize_arguments(model: Model) -> Iterator[Finding]:
    effect = "Triton does not load the model: TypeError"
    yield from _uncallable(model, "initialize", "args", effect)
    yield from _uncallable(model, "__init__", "", effect)


@warning(
    "initialize is no coroutine",
    source=f"{SOURCE} Initialize: what it returns is not looked at",
    bad=class_model(f"    async def initialize(self, args):\n        pass\n\n{EXECUTE}"),
)
def model_py_async_initialize(model: Model) -> Iterator[Finding]:
    for file, method in _methods(model, "initialize"):
        if isinstance(method, ast.AsyncFunctionDef) and not method.decorator_list:
            message = "initialize is a coroutine (async def), and Triton awaits only execute"
            effect = "the model loads without it: nothing in it ever runs"
            yield Finding(file.place(method), message, effect, "write def initialize(self, args):")


@rule(
    "auto_complete_config is a static method that takes the config and returns it",
    source=f"{SOURCE} AutoCompleteModelConfig: called on the class, unless --disable-auto-complete-config is given",
    bad=class_model(f"    def auto_complete_config(self, config):\n        return config\n\n{EXECUTE}"),
    lower=Severity.WARNING,
)
def model_py_auto_complete(model: Model) -> Iterator[Finding]:
    effect = "a server that completes configs, which is the default, does not load the model"
    for file, method in _methods(model, "auto_complete_config"):
        own = _own_arguments(method, on_class=True)
        if own is None:
            continue
        if not takes(method, own + 1):
            message = "Triton calls auto_complete_config on the class, with the config as its only argument"
        elif gives_none(method):
            message = "auto_complete_config returns nothing, and Triton needs the config"
        else:
            continue
        cure = "write @staticmethod and def auto_complete_config(config): … and end it with return config"
        yield Finding(file.place(method), message, effect, cure, severity_at_completion(model.repository))


def _uncallable(model: Model, name: str, argument: str, effect: str) -> Iterator[Finding]:
    """Yield the methods of the class that Triton cannot call with ``argument`` alone ("" for none)."""
    for file, method in _methods(model, name):
        own = _own_arguments(method)
        if own is None or takes(method, own + bool(argument)):
            continue
        most = len(positional(method))
        arguments = f"{most} argument" + ("s" if most != 1 else "")
        passed = (["self"] if own else []) + ([argument] if argument else [])
        given = f"{len(passed)} ({' and '.join(passed) or 'none'})"
        message = f"{name} takes {arguments}, and Triton calls it with {given}"
        yield Finding(file.place(method), message, effect, f"write def {name}({', '.join(passed)}):")


def _own_arguments(method: Function, on_class: bool = False) -> int | None:
    """Return how many arguments Python itself passes, self or the class; None when another decorator may change them.
    Called on the class, a plain method gets no self."""
    names = {decorator.id if isinstance(decorator, ast.Name) else "" for decorator in method.decorator_list}
    if names - {"staticmethod", "classmethod"}:
        return None
    return int("classmethod" in names or not (on_class or names))


def _methods(model: Model, name: str) -> Iterator[Definition[Function]]:
    """Yield the method of this name of each version."""
    methods = (model_class_of(file).method(name) for file in model_files(model))
    return (method for method in methods if method is not None)
