"""Where in a Python file a node stands: whether it certainly runs, and when."""

import ast
import sys
from collections.abc import Iterator
from enum import Enum
from functools import cached_property, lru_cache
from typing import NamedTuple, get_args

from triton_ensembles.checking.fault import Finding, Place, Severity
from triton_ensembles.checking.python.definitions import Definition, definition_of, lineage_of
from triton_ensembles.checking.python.nodes import (
    Comprehension,
    Function,
    Try,
    With,
    defined_names,
    dotted,
    is_called,
    is_changed,
    is_name,
    is_over,
    name_of,
    own_nodes,
    requests_of,
)
from triton_ensembles.checking.python.source import PythonFile

_SCOPES = (*get_args(Function), *get_args(Comprehension), ast.Lambda, ast.ClassDef, ast.Module)
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
    """The parents of all nodes of a file."""

    def __init__(self, file: PythonFile) -> None:
        self.module: ast.AST = file.module or ast.Module([], [])
        self.file = file
        self.parents: dict[ast.AST, ast.AST] = {}
        self._calls: dict[str, list[ast.Call]] = {}
        self._changed: set[str] = set()  # attributes that are assigned to, and names outside of functions
        self._binders: dict[tuple[ast.AST, str], list[ast.AST]] = {}  # by the scope and the name
        self._bound: set[str] = set()  # names of all scopes
        self._shared: set[str] = set()  # names that are global or nonlocal somewhere
        self._bodies: set[ast.AST] = set()  # what stands in the body of its parent
        self._uses: dict[str, int] = {}  # of attributes and names
        self._texts: set[str] = set()
        # Answers that were given before.
        self._helpers: dict[tuple[Function, int], When] = {}
        self._suppressing: dict[ast.AST, bool] = {}
        self._names: dict[ast.AST, dict[str, list[ast.Name]]] = {}
        for node in file.nodes:
            if isinstance(node, ast.Name | ast.Attribute):
                name = name_of(node)
                if is_changed(node):
                    if isinstance(node, ast.Attribute) or self.function(node) is None:
                        self._changed.add(name)
                else:
                    self._uses[name] = self._uses.get(name, 0) + 1
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._texts.add(node.value)
            elif isinstance(node, ast.Call):  # self.helper(…), helper(…)
                self._calls.setdefault(name_of(node.func), []).append(node)
            if isinstance(node, ast.Global | ast.Nonlocal):
                self._shared.update(node.names)
            for name in [node.id] if isinstance(node, ast.Name) and is_changed(node) else defined_names(node):
                self._bound.add(name)
                self._binders.setdefault((self._scope(node), name), []).append(node)
            body = getattr(node, "body", None)
            self._bodies.update(body if isinstance(body, list) else [body] if body else [])
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node

    def _scope(self, node: ast.AST) -> ast.AST:
        """Return the node whose name this is: what ``:=`` binds in a comprehension is of the scope around it."""
        scopes = [parent for parent, _ in self.above(node) if isinstance(parent, _SCOPES)]
        if isinstance(self.parents.get(node), ast.NamedExpr):
            scopes = [scope for scope in scopes if not isinstance(scope, Comprehension)]
        return scopes[0] if scopes else self.module

    @cached_property
    def _lineage(self) -> tuple[tuple[Definition, ...], bool]:
        return lineage_of(self.file)

    @cached_property
    def lineage(self) -> tuple[ast.ClassDef, ...]:
        """The model's class and those that it inherits from: see :func:`lineage_of`."""
        return tuple(part.node for part in self._lineage[0] if isinstance(part.node, ast.ClassDef))

    @property
    def has_plain_bases(self) -> bool:
        """Return whether there is the model's class, and it inherits from nothing but classes of its own files."""
        return self._lineage[1]

    @cached_property
    def homes(self) -> tuple[PythonFile, ...]:
        """The files of the model's class and of those that it inherits from."""
        return tuple(dict.fromkeys(part.file for part in self._lineage[0]))

    def above(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Yield the parents from the innermost, each with the child through which it was reached."""
        child = node
        while parent := self.parents.get(child):
            yield parent, child
            child = parent

    def names(self, below: ast.AST | None, name: str) -> list[ast.Name]:
        """Return the places of a name in a node, as :func:`ast.walk` finds them."""
        if below is None:
            return []
        if below not in self._names:
            places = self._names[below] = {}
            for node in ast.walk(below):
                if isinstance(node, ast.Name):
                    places.setdefault(node.id, []).append(node)
        return self._names[below].get(name, [])

    def in_body(self, child: ast.AST, parent: ast.AST) -> bool:
        """Return ``child in parent.body`` at once: a function may have a hundred thousand lines."""
        return child in self._bodies and self.parents.get(child) is parent

    def binders(self, name: ast.Name) -> list[ast.AST]:
        """Return the nodes that bind a name in the nearest scope that has any, parameters and imports among them; none
        for what may be bound elsewhere as well."""
        iterable: ast.AST | None = None  # the first one of a comprehension is outside of it
        is_inner = False
        for parent, child in self.above(name) if name.id not in self._shared else ():
            if isinstance(parent, ast.comprehension):
                iterable = parent if child is parent.iter else None
            elif isinstance(parent, Comprehension):
                is_seen = child is not iterable or child is not parent.generators[0]
            elif isinstance(parent, _SCOPES):
                is_seen = isinstance(parent, ast.Module) or self.in_body(child, parent)
                is_seen = is_seen and not (is_inner and isinstance(parent, ast.ClassDef))
                is_inner = True
            if isinstance(parent, _SCOPES) and is_seen and (binders := self._binders.get((parent, name.id))):
                return binders
        return []

    def is_builtin(self, node: ast.expr) -> bool:
        """Return whether a name is Python's own: the file never binds it."""
        return isinstance(node, ast.Name) and node.id not in self._bound

    def is_used(self, name: str) -> bool:
        """Return whether the file says a name or an attribute of this name anywhere, except to bind it."""
        return name in self._uses or name in self._texts

    def function(self, node: ast.AST) -> Function | None:
        """Return the innermost function around a node."""
        return next((parent for parent, _ in self.above(node) if isinstance(parent, Function)), None)

    def when(self, node: ast.AST, loops_run: bool = False, depth: int = 0) -> When:
        """Return when a node runs. With ``loops_run`` every loop is taken to run at least once, not only that over the
        requests; ``depth`` is that of helpers that call each other."""
        functions: list[Function] = []
        in_class = False
        for parent, child in self.above(node):
            if isinstance(parent, Function):
                if self.in_body(child, parent):  # defaults, decorators and annotations run where it is defined
                    functions.append(parent)
            elif isinstance(parent, ast.Lambda):
                return When.PERHAPS
            elif isinstance(parent, ast.ClassDef):
                in_class = True
            elif self._may_skip(parent, child, loops_run):
                return When.PERHAPS
        if not functions:
            return When.LOAD
        if len(functions) > 1:
            return When.CALLED
        name = functions[0].name
        is_own = in_class and functions[0] is self.method(name)
        when = (_OF_TRITON.get(name) if is_own else None) or self._called(functions[0], depth)
        return When.PERHAPS if when is When.LOAD and may_end_before(functions[0], node) else when

    def method(self, name: str) -> Function | None:
        """Return the method of the model: its own, or that of the nearest class that it inherits from."""
        definition = self.defining(name)
        return definition.node if definition else None  # type: ignore[return-value]

    def defining(self, name: str) -> Definition | None:
        """Return :meth:`method` with the file that it is in."""
        for file, model_class in self._lineage[0]:
            methods = [node for node in model_class.body if isinstance(node, Function) and node.name == name]
            if methods:
                return Definition(file, methods[-1])
        return None

    def appending(self, name: ast.Name) -> ast.Call | None:
        """Return the call ``name.append(value)`` that a name of a list stands in."""
        method = self.parents.get(name)
        call = self.parents.get(method) if isinstance(method, ast.Attribute) and method.attr == "append" else None
        return call if isinstance(call, ast.Call) and call.func is method and len(call.args) == 1 else None

    def helper(self, call: ast.Call) -> Definition | None:
        """Return the function of the model's files that a call certainly runs: ``self.helper(…)``, ``helper(…)`` or
        ``module.helper(…)``."""
        name = name_of(call.func)
        flows = [flow_of(file) for file in self.file.together]
        if any(name in flow._changed for flow in flows):
            return None
        if isinstance(call.func, ast.Attribute) and is_name(call.func.value, "self"):
            holder = next((parent for parent, _ in self.above(call) if isinstance(parent, ast.ClassDef)), None)
            definition = self.defining(name) if holder in self.lineage else None
        else:
            definition = definition_of(self.file, dotted(call.func))
        is_plain = definition and isinstance(definition.node, Function) and not definition.node.decorator_list
        return definition if is_plain else None

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
            return self.suppresses(parent)
        is_caught = isinstance(parent, Try) and bool(parent.handlers)
        return is_caught or isinstance(parent, ast.ExceptHandler | ast.Match | ast.match_case)

    def suppresses(self, node: With) -> bool:
        """Return whether it expects an error: ``with suppress(…)``, ``with self.assertRaises(…)``."""
        if node not in self._suppressing:
            names = (name_of(item.context_expr.func) for item in node.items if isinstance(item.context_expr, ast.Call))
            self._suppressing[node] = any(word in name.lower() for name in names for word in _SUPPRESSING)
        return self._suppressing[node]

    def _is_of_requests(self, iterated: ast.expr) -> bool:
        """Return whether a loop certainly runs: over the requests, or the outputs that one asks for."""
        if is_called(iterated, "requested_output_names"):
            return True
        function = self.function(iterated)
        return function is not None and function.name == "execute" and is_over(iterated, requests_of(function))


def may_end_before(function: Function | None, node: ast.AST) -> bool:
    """Return whether the function may end before this node, or is a generator, whose body a call does not run."""
    return function is not None and _first_end(function) < getattr(node, "lineno", 0)


@lru_cache(maxsize=256)
def _first_end(function: Function) -> int:
    """Return the line where the first return ends, 0 in a generator."""
    nodes = own_nodes(function)
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes):
        return 0
    lines = (node.end_lineno or 0 for node in nodes if isinstance(node, ast.Return))
    return min(lines, default=sys.maxsize)


flow_of = lru_cache(maxsize=256)(Flow)
