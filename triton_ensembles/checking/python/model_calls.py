"""The requests that a Python model sends to other models (Business Logic Scripting)."""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from triton_ensembles.checking.completed import completed, may_have_more_tensors
from triton_ensembles.checking.ensemble_steps import steps
from triton_ensembles.checking.python.bindings import value_of
from triton_ensembles.checking.python.nodes import argument
from triton_ensembles.checking.python.source import UTILS, PythonFile, every_call
from triton_ensembles.checking.python.values import texts_of
from triton_ensembles.checking.repository import Model, Repository

REQUEST = f"{UTILS}.InferenceRequest"


class ModelCall(NamedTuple):
    """An ``InferenceRequest`` that a model makes for another."""

    file: PythonFile
    node: ast.Call
    names: tuple[str, ...] | None  # of the models that it may be for; None when they are not known

    def executions(self) -> Iterator[ast.Call]:
        """Yield the calls of ``exec`` and ``async_exec`` of the request."""
        for node, _ in self.file.calls:
            if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("exec", "async_exec"):
                continue
            if value_of(self.file.scopes, node.func.value) is self.node:
                yield node


def model_calls(model: Model) -> tuple[ModelCall, ...]:
    """Return the calls in all Python files of a model."""
    return model.repository.once(f"calls of {model.root}", lambda: tuple(_calls(model)))


def _calls(model: Model) -> Iterator[ModelCall]:
    for file, node, name in every_call(model):
        if name == REQUEST:
            yield ModelCall(file, node, texts_of(file, argument(node, 4, "model_name")))


def known_calls(model: Model) -> Iterator[tuple[ModelCall, Model]]:
    """Yield the calls of models whose configs are known, with these models."""
    for call in model_calls(model):
        for name in call.names or ():
            callee = model.repository.model(name)
            if callee and callee.has_config and not may_have_more_tensors(completed(callee)):
                yield call, completed(callee)


def callees(model: Model) -> list[Model]:
    """Return the models of the repository that ``model`` calls: all but the ensembles that have it as a step where a
    name is not known."""
    calls = model_calls(model)
    if any(call.names is None for call in calls):
        above = [each.folder for each in model.repository.ensembles if model in reached([each], step_models)]
        return [callee for callee in model.repository.models if callee.folder not in (*above, model.folder)]
    names = dict.fromkeys(name for call in calls for name in call.names or ())
    return [callee for name in names if (callee := model.repository.model(name))]


def reached(models: Iterable[Model], parts: Callable[[Model], list[Model]]) -> list[Model]:
    """Return these models and all their parts, as :func:`step_models` or :func:`needed` has them, directly or not."""
    found: dict[str, Model] = {}
    waiting = list(models)
    while waiting:
        model = waiting.pop()
        if model.folder not in found:
            found[model.folder] = model
            waiting += parts(model)
    return list(found.values())


def step_models(model: Model) -> list[Model]:
    """Return the models of the steps of an ensemble that the repository has; none for any other model."""
    return [step.model for step in steps(model) if step.model]


def needed(model: Model) -> list[Model]:
    """Return the models of the repository without which a model does not answer: those that it calls, and the steps of
    an ensemble."""
    return [*step_models(model), *callees(model)]


def calls_between(repository: Repository, entrances: Collection[str]) -> dict[str, list[str]]:
    """Return the models that each model needs, each after those that it needs: of ``entrances`` and all that they need,
    directly or not."""
    calls: dict[str, list[str]] = {}
    seen = set()
    waiting = [model for model in reversed(repository.models) if model.folder in entrances]
    while waiting:
        model = waiting[-1]
        models = needed(model)
        if model.folder in seen:
            waiting.pop()
            calls.setdefault(model.folder, [each.folder for each in models])
        else:
            seen.add(model.folder)
            waiting += [each for each in reversed(models) if each.folder not in seen]
    return calls


def outermost(models: Sequence[Model]) -> list[Model]:
    """Return those of the models that no other of them needs."""
    inner = {part.folder for model in models for part in needed(model) if part is not model}
    return [model for model in models if model.folder not in inner]


def entrances(repository: Repository) -> list[Model]:
    """Return the ensembles that no other model needs; without any, the models that call others and that none needs."""
    outer = outermost(repository.models)
    callers = (model for model in outer if any(part is not model for part in needed(model)))
    return [model for model in outer if model.is_ensemble] or list(callers)
