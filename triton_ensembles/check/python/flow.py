"""Where in a Python file a node stands: whether it certainly runs, and when."""

import ast
from bisect import bisect_left
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

from triton_ensembles.check.python.source import PythonFile

CLASS = "TritonPythonModel"
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_SUPPRESSING = ("suppress", "raises", "Raises")  # in the names of context managers that expect an error
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
        self._helpers: dict[tuple[Function, int], When] = {}
        self._suppressing: dict[ast.AST, bool] = {}
        self._names: dict[ast.AST, dict[str, list[ast.Name]]] = {}
        self._blocks: dict[ast.AST, tuple[list[ast.AST], int]] = {}
        self._parted: set[ast.AST] = set()
        self._spans: dict[ast.AST, tuple[int, int]] = {}  # a node has all those that begin within its span
        self._binders: dict[str, list[ast.AST]] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        self._calls: dict[str, list[ast.Call]] = {}
        self._defined: dict[str, list[Function]] = {}
        self._stored: set[str] = set()  # attributes and names that are assigned to
        self._loaded: dict[str, int] = {}  # how often attributes and names are used
        self._texts: set[str] = set()
        self.module: ast.AST = file.module or ast.Module([], [])
        self.lineage = lineage_of(file)
        for node in file.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._defined.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Name | ast.Attribute) and not isinstance(node.ctx, ast.Load):
                self._stored.add(node.id if isinstance(node, ast.Name) else node.attr)
            elif isinstance(node, ast.Name | ast.Attribute):
                name = node.id if isinstance(node, ast.Name) else node.attr
                self._loaded[name] = self._loaded.get(name, 0) + 1
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._texts.add(node.value)
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

    def block_of(self, statement: ast.AST) -> tuple[list[ast.AST], int] | None:
        """The list of statements that this one is in, and its place there."""
        parent = self.parents.get(statement)
        if parent is not None and parent not in self._parted:
            self._parted.add(parent)
            for key in ("body", "orelse", "finalbody", "handlers"):
                block = getattr(parent, key, None)
                for place, each in enumerate(block if isinstance(block, list) else []):
                    self._blocks[each] = (block or [], place)
        return self._blocks.get(statement)

    def in_body(self, child: ast.AST, parent: ast.AST) -> bool:
        """``child in parent.body`` at once: a function may have a hundred thousand lines."""
        found = self.block_of(child)
        return found is not None and found[0] is getattr(parent, "body", None)

    def binders(self, name: str, below: ast.AST) -> list[ast.AST]:
        """What binds a name in a node: assignments, loops, imports, definitions, ``except … as``."""
        if not self._spans:
            self._note_binders()
        found, first, last = self._bound_within(name, *self._spans.get(below, (0, 0)))
        return found[first:last]

    def binds(self, name: str, below: ast.AST) -> bool:
        """Whether :meth:`binders` has any, without a list of them."""
        if not self._spans:
            self._note_binders()
        _, first, last = self._bound_within(name, *self._spans.get(below, (0, 0)))
        return first < last

    def binder_before(self, name: str, block: list[ast.AST], statement: ast.AST) -> ast.AST | None:
        """The one of the binders in the statements of ``block`` before this one that is nearest to it."""
        if not self._spans:
            self._note_binders()
        found, first, last = self._bound_within(name, self._spans[statement][1], self._spans[block[0]][1])
        return found[first] if first < last else None

    def _bound_within(self, name: str, start: int, end: int) -> tuple[list[ast.AST], int, int]:
        """The binders of a name, and the places in that list from and up to which they begin in this span."""
        found = self._binders.get(name, [])
        first, last = (bisect_left(found, each, key=lambda node: self._spans[node][0]) for each in (start, end))
        return found, first, last

    def _note_binders(self) -> None:
        """Number all nodes, what stands later in a block first, and list binders in that order."""
        waiting: list[tuple[ast.AST, bool]] = [(self.module, False)]
        count = 0
        while waiting:
            node, left = waiting.pop()
            if left:
                self._spans[node] = (self._spans[node][0], count)
                continue
            self._spans[node] = (count, count + 1)
            count += 1
            if not isinstance(node, ast.expr_context | ast.operator | ast.unaryop | ast.cmpop | ast.boolop):
                waiting.append((node, True))
                waiting += [(child, False) for child in ast.iter_child_nodes(node)]
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self._binders.setdefault(node.id, []).append(node)
            for name in defined_names(node) if not isinstance(node, ast.arg) else ():
                self._binders.setdefault(name, []).append(node)

    def is_builtin(self, node: ast.expr) -> bool:
        """Whether a name is Python's own: the file never binds it."""
        return isinstance(node, ast.Name) and not self.binds(node.id, self.module)

    def calls_of(self, function: Function) -> list[ast.Call] | None:
        """All calls of a helper; None when others may call it as well, or get it as a value."""
        calls = self._calls.get(function.name, [])
        named = self._loaded.get(function.name, 0)
        return calls if named == len(calls) and all(self.helper(call) is function for call in calls) else None

    def is_used(self, name: str) -> bool:
        """Whether the file says a name or an attribute of this name anywhere, except to bind it."""
        return name in self._loaded or name in self._texts

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
                if self.in_body(
                    child, parent
                ):  # defaults, decorators and annotations run where the function is defined
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
        called_by_triton = name == "execute" or name in _AT_LOAD
        if len(functions) == 1 and classes and called_by_triton and functions[0] is self.method(name):
            return When.REQUEST if name == "execute" else When.LOAD
        return self._called(functions[0], depth) if len(functions) == 1 else When.CALLED

    def method(self, name: str) -> Function | None:
        """The method of the model: its own, or that of the nearest class of the file that it inherits from."""
        for each in self.lineage:
            found = [node for node in each.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
            if named := [node for node in found if node.name == name]:
                return named[-1]
        return None

    def value(self, node: ast.expr | None) -> ast.expr | None:
        """What a name of a function is bound to, where that happens once; the expression itself otherwise."""
        function = self.function(node) if isinstance(node, ast.Name) else None
        if not isinstance(node, ast.Name) or function is None:
            return node
        given = function.args
        arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        if any(each.arg == node.id for each in arguments if each):
            return node
        named = self.names(function, node.id)
        bound = [self.parents.get(each) for each in named if not isinstance(each.ctx, ast.Load)]
        if len(bound) == 1 and isinstance(bound[0], ast.Assign) and isinstance(bound[0].targets[0], ast.Name):
            return bound[0].value
        return node

    def helper(self, call: ast.Call) -> Function | None:
        """The function of the file that a call surely runs: ``self.helper(…)`` of the model, or ``helper(…)``."""
        if isinstance(call.func, ast.Name):
            name, in_class = call.func.id, False
        elif isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "self":
            name, in_class = call.func.attr, True
        else:
            return None
        found = self._defined.get(name, [])
        if len(found) != 1 or found[0].decorator_list or name in self._stored:
            return None
        parent = self.parents.get(found[0])
        return found[0] if (parent in self.lineage if in_class else isinstance(parent, ast.Module)) else None

    def _called(self, function: Function, depth: int) -> When:
        """When a helper runs that certainly is called, from the file itself."""
        key = (function, depth)
        if key not in self._helpers:
            calls = self._calls.get(function.name, ()) if depth < _DEEPEST else ()
            found = (self.when(call, True, depth + 1) for call in calls if self.helper(call) is function)
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
            return self.suppresses(parent)
        return isinstance(parent, ast.Try | ast.TryStar | ast.ExceptHandler | ast.Match | ast.match_case)

    def suppresses(self, node: ast.With | ast.AsyncWith) -> bool:
        """Whether it expects an error: ``with suppress(…)``, ``with self.assertRaises(…)``."""
        if node not in self._suppressing:
            texts = [ast.unparse(item.context_expr) for item in node.items]
            self._suppressing[node] = any(word in text for text in texts for word in _SUPPRESSING)
        return self._suppressing[node]

    def _is_of_requests(self, iterated: ast.expr) -> bool:
        """Whether a loop runs over the requests of ``execute``, of which there is at least one."""
        while isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.args:
            if iterated.func.id not in ("enumerate", "list", "reversed", "tuple"):
                return False
            iterated = iterated.args[0]
        function = self.function(iterated)
        return isinstance(iterated, ast.Name) and function is not None and iterated.id == requests_of(function)


def lineage_of(file: PythonFile) -> tuple[ast.ClassDef, ...]:
    """The model's class and, from the nearest, the classes of the same file that it inherits from, one by one.

    It ends at a class of several bases, or of one that the file does not define itself.
    """
    classes: dict[str, list[ast.ClassDef]] = {}
    for node in file.module.body if file.module else ():
        if isinstance(node, ast.ClassDef):
            classes.setdefault(node.name, []).append(node)
    found: list[ast.ClassDef] = []
    name = CLASS
    while len(classes.get(name, ())) == 1 and classes[name][0] not in found:
        found.append(classes[name][0])
        bases = [base.value if isinstance(base, ast.Subscript) else base for base in found[-1].bases]
        names = [base.id if isinstance(base, ast.Name) else "" for base in bases]
        names = [each for each in names if each not in ("ABC", "object", "Generic", "Protocol")]
        if len(names) != 1:
            break
        name = names[0]
    return tuple(found)


@lru_cache(maxsize=128)
def flow_of(file: PythonFile) -> Flow:
    return Flow(file)


def requests_of(function: Function) -> str:
    """The name of the argument of ``execute`` that has the requests, "" in other functions."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    return arguments[-1].arg if function.name == "execute" and arguments else ""


def defined_names(node: ast.AST) -> list[str]:
    """The names that a node binds to something that is no expression."""
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).partition(".")[0]]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.ExceptHandler):
        return [node.name] if node.name else []
    return list(node.names) if isinstance(node, ast.Global | ast.Nonlocal) else []


@lru_cache(maxsize=256)
def own_nodes(function: Function) -> tuple[ast.AST, ...]:
    """What is in a function, without the functions and classes in it."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += reversed(list(ast.iter_child_nodes(node)))
    return tuple(found)
