"""Where in a Python file a node stands: whether it certainly runs, and when."""

import ast
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

from triton_ensembles.check.python_source import PythonFile

CLASS = "TritonPythonModel"
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_DEEPEST = 3  # helpers that call helpers
_AT_LOAD = frozenset({"initialize", "__init__"})


class When(StrEnum):
    """When a node runs, if nothing stops the lines before it."""

    LOAD = "load"  # when the model is loaded
    REQUEST = "request"  # for every request
    CALLED = "called"  # whenever some other function is called
    PERHAPS = "perhaps"  # in a branch, a loop, or a part whose errors are caught


class Flow:
    """The parents of all nodes of a file."""

    def __init__(self, file: PythonFile) -> None:
        self._helpers: dict[tuple[str, int], When] = {}
        self._suppressing: dict[ast.AST, bool] = {}
        self._names: dict[ast.AST, dict[str, list[ast.Name]]] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        self._calls: dict[str, list[ast.Call]] = {}
        for node in file.nodes:
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            if isinstance(node, ast.Call):  # self.helper(…), helper(…)
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                self._calls.setdefault(called, []).append(node)

    def above(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Each parent from the innermost, with the child through which it was reached."""
        child = node
        while parent := self.parents.get(child):
            yield parent, child
            child = parent

    def names(self, below: ast.AST | None, name: str) -> list[ast.Name]:
        """Where a name stands in a node, as :func:`ast.walk` finds them."""
        if below is None:
            return []
        if below not in self._names:
            found = self._names[below] = {}
            for node in ast.walk(below):
                if isinstance(node, ast.Name):
                    found.setdefault(node.id, []).append(node)
        return self._names[below].get(name, [])

    def function(self, node: ast.AST) -> Function | None:
        """The innermost function around a node."""
        found = (parent for parent, _ in self.above(node) if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef))
        return next(found, None)

    def when(self, node: ast.AST, loops_run: bool = False, depth: int = 0) -> When:
        """``loops_run``: every loop is taken to run at least once, not only that over the requests."""
        functions: list[Function] = []
        classes: list[str] = []
        for parent, child in self.above(node):
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
                if child in parent.body:  # defaults, decorators and annotations run where the function is defined
                    functions.append(parent)
            elif isinstance(parent, ast.Lambda):
                return When.PERHAPS
            elif isinstance(parent, ast.ClassDef):
                classes.append(parent.name)
            elif self._may_skip(parent, child, loops_run):
                return When.PERHAPS
        if not functions:
            return When.LOAD
        name = functions[0].name
        if len(functions) == 1 and classes == [CLASS] and (name == "execute" or name in _AT_LOAD):
            return When.REQUEST if name == "execute" else When.LOAD
        return self._called(name, depth) if len(functions) == 1 else When.CALLED

    def _called(self, name: str, depth: int) -> When:
        """When a helper runs that certainly is called, from the file itself."""
        key = (name, depth)
        if key not in self._helpers:
            calls = self._calls.get(name, ()) if depth < _DEEPEST else ()
            found = (self.when(call, True, depth + 1) for call in calls)
            self._helpers[key] = next((when for when in found if when in (When.LOAD, When.REQUEST)), When.CALLED)
        return self._helpers[key]

    def _may_skip(self, parent: ast.AST, child: ast.AST, loops_run: bool) -> bool:
        """Whether ``parent`` may leave out ``child``, or hide its errors."""
        if isinstance(parent, ast.If | ast.IfExp | ast.While):
            return child is not parent.test
        if isinstance(parent, ast.BoolOp):
            return child is not parent.values[0]
        if isinstance(parent, ast.Assert):
            return child is parent.msg
        if isinstance(parent, ast.For | ast.AsyncFor):
            return child is not parent.iter and not (loops_run or self._is_of_requests(parent.iter))
        if isinstance(parent, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            first = parent.generators[0]
            certain = len(parent.generators) == 1 and not first.ifs
            certain = certain and (loops_run or self._is_of_requests(first.iter))
            return child is not first and not certain
        if isinstance(parent, ast.comprehension):
            return child is not parent.iter
        if isinstance(parent, ast.With | ast.AsyncWith):
            if parent not in self._suppressing:
                self._suppressing[parent] = any("suppress" in ast.unparse(item.context_expr) for item in parent.items)
            return self._suppressing[parent]
        return isinstance(parent, ast.Try | ast.TryStar | ast.ExceptHandler | ast.Match | ast.match_case)

    def _is_of_requests(self, iterated: ast.expr) -> bool:
        """Whether a loop runs over the requests of ``execute``, of which there is at least one."""
        while isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.args:
            if iterated.func.id not in ("enumerate", "list", "reversed", "tuple"):
                return False
            iterated = iterated.args[0]
        function = self.function(iterated)
        return isinstance(iterated, ast.Name) and function is not None and iterated.id == requests_of(function)


@lru_cache(maxsize=128)
def flow_of(file: PythonFile) -> Flow:
    return Flow(file)


def requests_of(function: Function) -> str:
    """The name of the argument of ``execute`` that has the requests, "" in other functions."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    return arguments[-1].arg if function.name == "execute" and arguments else ""


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """What is in a function, without the functions and classes in it."""
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += reversed(list(ast.iter_child_nodes(node)))
