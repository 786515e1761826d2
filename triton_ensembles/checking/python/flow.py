"""Where in a Python file a node stands: whether it certainly runs, and when."""

import ast
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from triton_ensembles.checking.fault import Finding, Place, Severity
from triton_ensembles.checking.python.definitions import Definition, definition_of, model_class_of
from triton_ensembles.checking.python.nodes import (
    Comprehension,
    Function,
    Try,
    With,
    dotted,
    is_called,
    is_changed,
    is_name,
    is_over,
    may_end_before,
    name_of,
    requests_of,
)
from triton_ensembles.checking.python.source import PythonFile

_SUPPRESSING = ("suppress", "raises")  # in the names of context managers that expect an error
_DEEPEST = 3  # helpers that call helpers


class When(Enum):
    """When a node runs, if nothing stops the lines before it."""

    LOAD = "when the model is loaded"
    REQUEST = "for every request"
    CALLED = "whenever some other function is called"
    PERHAPS = "in a branch, a loop, or a part whose errors are caught"

    @property
    def is_certain(self) -> bool:
        return self in (When.LOAD, When.REQUEST)

    @property
    def effect(self) -> str:
        """The effect of an error in such a node."""
        if self is When.LOAD:
            return "Triton does not load the model"
        return "the model loads, and every request fails" if self is When.REQUEST else "it fails when this line runs"


_OF_TRITON = {"__init__": When.LOAD, "initialize": When.LOAD, "execute": When.REQUEST}  # the methods that it calls


class Misuse(NamedTuple):
    """A use of one of Triton's objects that Python refuses: a message, the error that Python raises, and the cure."""

    message: str
    error: str
    cure: str

    def finding(self, place: Place, when: When, is_certain: bool) -> Finding:
        """Return the finding of a line that runs at ``when``: a warning where it is not certain that it ever does."""
        severity = None if is_certain else Severity.WARNING
        return Finding(place, self.message, f"{when.effect}: {self.error}", self.cure, severity)


class Flow:
    """When the nodes of a file run, and which functions of the model its calls run."""

    def __init__(self, file: PythonFile) -> None:
        self.file, self.scopes, self.model = file, file.scopes, model_class_of(file)
        self._calls: dict[str, list[ast.Call]] = {}
        self._said: set[str] = set()  # attributes and names, except where they are bound, and texts
        self._helpers: dict[tuple[Function, int], When] = {}  # answers that were given before
        for node in file.nodes:
            if isinstance(node, ast.Name | ast.Attribute) and not is_changed(node):
                self._said.add(name_of(node))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._said.add(node.value)
            elif isinstance(node, ast.Call):  # self.helper(…), helper(…)
                self._calls.setdefault(name_of(node.func), []).append(node)

    def is_used(self, name: str) -> bool:
        """Return whether the file says a name or an attribute of this name anywhere, except to bind it."""
        return name in self._said

    def when(self, node: ast.AST, loops_run: bool = False, depth: int = 0) -> When:
        """Return when a node runs. With ``loops_run`` every loop is taken to run at least once, not only that over the
        requests; ``depth`` is that of helpers that call each other."""
        if any(self._may_skip(parent, child, loops_run) for parent, child in self.scopes.above(node)):
            return When.PERHAPS
        return self.called(node, depth)

    def called(self, node: ast.AST, depth: int = 0) -> When:
        """Return when the function runs that a node is in, whatever may leave out the node there."""
        above = ((parent, child) for parent, child in self.scopes.above(node) if isinstance(parent, Function))
        # Defaults, decorators and annotations run where the function is defined.
        functions = [parent for parent, child in above if self.scopes.in_body(child, parent)]
        if len(functions) != 1:
            return When.CALLED if functions else When.LOAD
        own = self.model.method(functions[0].name)
        when = _OF_TRITON.get(functions[0].name) if own and own.node is functions[0] else None
        when = when or self._called(functions[0], depth)
        return When.PERHAPS if when is When.LOAD and may_end_before(functions[0], node) else when

    def helper(self, call: ast.Call) -> Definition[Function] | None:
        """Return the function of the model's files that a call certainly runs: ``self.helper(…)``, ``helper(…)`` or
        ``module.helper(…)``."""
        name = name_of(call.func)
        if any(name in file.scopes.attributes for file in self.file.together):
            return None
        definition: Definition[Function] | Definition[Function | ast.ClassDef] | None = None
        if isinstance(call.func, ast.Attribute) and is_name(call.func.value, "self"):
            holder = next((parent for parent, _ in self.scopes.above(call) if isinstance(parent, ast.ClassDef)), None)
            definition = self.model.method(name) if any(holder is own for _, own in self.model.parts) else None
        else:
            definition = definition_of(self.file, dotted(call.func))
        is_plain = definition and isinstance(definition.node, Function) and not definition.node.decorator_list
        return definition if is_plain else None  # type: ignore[return-value]

    def caught(self, node: ast.AST) -> Iterator[ast.expr | None]:
        """Yield the errors with which the lines around a node reckon and go on, ``except error`` and
        ``with suppress(error)``; None for any."""
        for parent, child in self.scopes.above(node):
            if isinstance(parent, With):
                yield from _suppressed(parent)
            elif isinstance(parent, Try) and self.scopes.in_body(child, parent):
                yield from (handler.type for handler in parent.handlers if self.goes_on(handler))

    def goes_on(self, handler: ast.ExceptHandler) -> bool:
        """Return whether a handler neither raises after all nor ends the process."""
        last = handler.body[-1]
        call = last.value if isinstance(last, ast.Expr) else None
        ends = isinstance(call, ast.Call) and self.file.full_name(call.func) in ("sys.exit", "exit", "quit")
        return not ends and not isinstance(last, ast.Raise)

    def _called(self, function: Function, depth: int) -> When:
        key = (function, depth)
        if key not in self._helpers:
            flows = [flow_of(file) for file in self.file.together] if depth < _DEEPEST else []
            calls = ((flow, call) for flow in flows for call in flow._calls.get(function.name, ()))
            runs = ((flow, call) for flow, call in calls if (known := flow.helper(call)) and known.node is function)
            times = (flow.when(call, True, depth + 1) for flow, call in runs)
            self._helpers[key] = next((when for when in times if when.is_certain), When.CALLED)
        return self._helpers[key]

    def _may_skip(self, parent: ast.AST, child: ast.AST, loops_run: bool) -> bool:
        """Return whether ``parent`` may leave out ``child``, or hide its errors."""
        if isinstance(parent, ast.If | ast.IfExp | ast.While):
            return child is not parent.test
        if isinstance(parent, ast.BoolOp):
            return child is not parent.values[0]
        if isinstance(parent, ast.Assert):
            return child is parent.msg
        if isinstance(parent, ast.For | ast.AsyncFor):
            return child is not parent.iter and not (loops_run or self._is_of_requests(parent.iter))
        if isinstance(parent, Comprehension):
            first = parent.generators[0]
            certain = len(parent.generators) == 1 and not first.ifs
            certain = certain and (loops_run or self._is_of_requests(first.iter))
            return child is not first and not certain
        if isinstance(parent, ast.comprehension):
            return child is not parent.iter
        if isinstance(parent, With):
            return bool(_suppressed(parent))
        is_caught = isinstance(parent, Try) and bool(parent.handlers)
        return is_caught or isinstance(parent, ast.ExceptHandler | ast.Match | ast.match_case | ast.Lambda)

    def _is_of_requests(self, iterated: ast.expr) -> bool:
        """Return whether a loop certainly runs: over the requests, or the outputs that one asks for."""
        if is_called(iterated, "requested_output_names"):
            return True
        function = self.scopes.function(iterated)
        return function is not None and function.name == "execute" and is_over(iterated, requests_of(function))


@lru_cache(maxsize=256)
def _suppressed(node: With) -> tuple[ast.expr, ...]:
    """Return the errors that it expects: ``with suppress(…)``, ``with self.assertRaises(…)``."""
    calls = (item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call))
    expecting = (call for call in calls if any(word in name_of(call.func).lower() for word in _SUPPRESSING))
    return tuple(error for call in expecting for error in call.args)


flow_of = lru_cache(maxsize=256)(Flow)
