"""The requests that a Python model sends to other models (Business Logic Scripting)."""

import ast
from collections.abc import Collection, Iterator
from typing import NamedTuple

from triton_ensembles.checking.completed import completed, may_have_more_tensors
from triton_ensembles.checking.python.bindings import value_of
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.nodes import argument, method_of
from triton_ensembles.checking.python.source import UTILS, PythonFile, every_call
from triton_ensembles.checking.python.values import text_of, texts_of
from triton_ensembles.checking.repository import Model, Repository

_REQUEST = f"{UTILS}.InferenceRequest"


class ModelCall(NamedTuple):
    """An ``InferenceRequest`` that a model makes for another."""

    file: PythonFile
    node: ast.Call
    names: tuple[str, ...] | None  # of the models that it may be for; None when they are not known

    def value(self, node: ast.expr | None) -> ast.expr | None:
        """Return what an expression of its file is, as :func:`value_of`."""
        return value_of(flow_of(self.file), node) if node is not None else None

    def name_in(self, node: ast.Call, position: int, argument_name: str) -> str | None:
        """Return the one text that an argument of a call in its file is."""
        return text_of(self.file, argument(node, position, argument_name))

    def requested_outputs(self) -> list[tuple[ast.expr, str]]:
        """Return the names in ``requested_output_names`` that are known, and where they stand."""
        elements = elements_of(self.file, argument(self.node, 3, "requested_output_names")) or []
        return [(element, name) for element in elements if (name := text_of(self.file, element)) is not None]

    def executions(self) -> Iterator[ast.Call]:
        """Yield the calls of ``exec`` and ``async_exec`` of the request."""
        for node, _ in self.file.calls():
            is_execution = method_of(node) in ("exec", "async_exec") and isinstance(node.func, ast.Attribute)
            if is_execution and self.value(node.func.value) is self.node:  # type: ignore[attr-defined]
                yield node


def model_calls(model: Model) -> tuple[ModelCall, ...]:
    """Return the calls in all Python files of a model."""
    return model.repository.once(f"calls of {model.root}", lambda: tuple(_calls(model)))


def _calls(model: Model) -> Iterator[ModelCall]:
    for file, node, name in every_call(model):
        if name == _REQUEST:
            yield ModelCall(file, node, texts_of(file, argument(node, 4, "model_name")))


def known_calls(model: Model) -> Iterator[tuple[ModelCall, Model]]:
    """Yield the calls of models whose configs are known, with these models."""
    for call in model_calls(model):
        for name in call.names or ():
            callee = model.repository.model(name)
            if callee and callee.has_config and not may_have_more_tensors(completed(callee)):
                yield call, completed(callee)


def elements_of(file: PythonFile, node: ast.expr | None) -> list[ast.expr] | None:
    """Return the elements of a list or tuple; None where they are not known, as those of a list that is appended to."""
    flow = flow_of(file)
    value = value_of(flow, node) if node is not None else None
    if not isinstance(value, ast.List | ast.Tuple):
        return None
    uses = flow.names(flow.function(node), node.id) if node and isinstance(node, ast.Name) else []
    changing = (ast.Attribute, ast.Subscript, ast.AugAssign)
    return None if any(isinstance(flow.parents.get(use), changing) for use in uses) else value.elts


def callees(model: Model) -> list[Model]:
    """Return the models of the repository that ``model`` calls: all but the ensembles where a name is not known."""
    calls = model_calls(model)
    if any(call.names is None for call in calls):
        return [callee for callee in model.repository.models if callee is not model and not callee.is_ensemble]
    names = dict.fromkeys(name for call in calls for name in call.names or ())
    return [callee for name in names if (callee := model.repository.model(name))]


def calls_between(repository: Repository, entrances: Collection[str]) -> dict[str, list[str]]:
    """Return the models that each model calls, each after those that it calls: of ``entrances`` and all that they call,
    directly or not."""
    calls: dict[str, list[str]] = {}
    seen = set()

    def visit(model: Model) -> None:
        if model.folder not in seen:
            seen.add(model.folder)
            models = callees(model)
            for callee in models:
                visit(callee)
            calls[model.folder] = [callee.folder for callee in models]

    for model in repository.models:
        if model.folder in entrances:
            visit(model)
    return calls


def entrances(repository: Repository) -> list[Model]:
    """Return the models that call others, and that no other calls."""
    callers = [model for model in repository.models if callees(model)]
    called = {callee.folder for model in callers for callee in callees(model)}
    return [model for model in callers if model.folder not in called]
