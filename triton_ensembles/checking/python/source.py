"""The Python files of a model, parsed with :mod:`ast` and never run."""

import ast
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.util import decode_source

from triton_ensembles.archive.tree import Kind, join
from triton_ensembles.checking.fault import Edit, Place
from triton_ensembles.checking.packages import packages_in
from triton_ensembles.checking.python.nodes import dotted, is_main
from triton_ensembles.checking.python.scope import Scopes
from triton_ensembles.checking.repository import Form, Model, Repository
from triton_ensembles.checking.source_budget import PythonBudget

MODEL_PY = "model.py"
UTILS = "triton_python_backend_utils"
_PATH = "sys.path"
_ADDING = frozenset({"site.addsitedir", *(f"{_PATH}.{method}" for method in ("append", "extend", "insert"))})
_DEEPEST = 32  # packages in each other
_MOST_VERSIONS = 20  # of one model
_MOST_FILES = 200  # of one model
_MOST_COMPILED = 128 << 10  # bytes of a file; compiling takes longer than parsing, and tables of data need none


@dataclass(frozen=True)
class ParseError:
    """Why a file is not valid in the Python that runs the checker."""

    message: str
    line: int
    column: int


@dataclass(frozen=True, eq=False)
class PythonFile:
    """A Python file at ``path`` within the model's folder, with all its nodes: rules look at them again and again, and
    walking takes longer. ``own`` has what its imports bind to other files of the model: each name, with the file and
    the name in it, "" for the file itself. ``together`` are all files of the versions that import it, with itself."""

    path: str
    shown: str
    data: bytes
    nodes: tuple[ast.AST, ...] = field(default=(), repr=False)
    error: ParseError | None = None
    own: dict[str, tuple["PythonFile", str]] = field(default_factory=dict, repr=False)
    together: dict["PythonFile", None] = field(default_factory=dict, repr=False)

    @property
    def module(self) -> ast.Module | None:
        return self.nodes[0] if self.nodes else None  # type: ignore[return-value]

    def place(self, node: ast.AST | ParseError) -> Place:
        if isinstance(node, ParseError):
            return Place(self.shown, node.line, node.column)
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", -1)
        return Place(self.shown, line, _letters(self.data, line, column) + 1)

    def renamed(self, node: ast.AST | None, old: str, to: str | None) -> tuple[Edit, ...]:
        """Return the edit that writes ``to`` for ``old``, the text of a literal or the name of an attribute.

        There is none where the source has it otherwise, or without ``to``.
        """
        if not to or not isinstance(node, ast.Constant | ast.Attribute) or not node.end_lineno or "\\" in old:
            return ()
        lines = self.data.split(b"\n")
        before = b"\n".join([*lines[: node.end_lineno - 1], lines[node.end_lineno - 1][: node.end_col_offset]])
        for start, end in (("'", "'"), ('"', '"')) if isinstance(node, ast.Constant) else ((".", ""),):
            if before.endswith(f"{start}{old}{end}".encode()):
                place = len(before.decode("utf-8", "replace")) - len(old) - len(end)
                return (Edit(place, place + len(old), to),)
        return ()

    @cached_property
    def calls(self) -> tuple[tuple[ast.Call, str], ...]:
        """Every call, and the full name of what it calls (``numpy.zeros``), "" when unknown."""
        return tuple((node, self.full_name(node.func)) for node in self.nodes if isinstance(node, ast.Call))

    @cached_property
    def called(self) -> frozenset[str]:
        """The full names of all that it calls."""
        return frozenset(name for _, name in self.calls)

    @cached_property
    def names(self) -> dict[str, str]:
        """The full names of what imports bind: ``{"pb_utils": "triton_python_backend_utils"}``."""
        bound: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    bound[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return bound

    def full_name(self, node: ast.expr) -> str:
        first, *rest = dotted(node).split(".")
        return ".".join([self.names.get(first, first), *rest])

    @cached_property
    def scopes(self) -> Scopes:
        return Scopes(self.nodes)


def model_files(model: Model) -> list[PythonFile]:
    """Return model.py of every version that is served, up to the twenty newest."""
    if not model.is_python:
        return []
    name = model.config.default_model_filename or MODEL_PY
    folders = [model.versions[number] for number in model.served_versions[:_MOST_VERSIONS]]
    files = [file for folder in folders if (file := _file(model, join(folder, name)))]
    return [all_files(model, file)[0] for file in files]  # which notes what they import


def all_files(model: Model, first: PythonFile) -> list[PythonFile]:
    """Return ``first`` and all the files of the model itself that it imports, directly or not."""
    return model.repository.once(f"*imported {join(model.root, first.path)}", lambda: _imported(model, first))


def _imported(model: Model, first: PythonFile) -> list[PythonFile]:
    modules = _Modules(model, first)
    files = modules.files
    for file in files:  # which grows
        file.own.update(modules.imported(file))
    for file in files:
        file.together.update(dict.fromkeys(files))
    return files


class _Modules:
    """The model's files that its files import, each read once."""

    def __init__(self, model: Model, first: PythonFile) -> None:
        self.model = model
        self.files = [first]
        folder = first.path.rpartition("/")[0]
        self._read: dict[str, PythonFile | None] = {first.path: first}
        self._roots = [folder, ""]  # sys.path of the stub: pb_stub.cc r24.10 StubSetup
        self._prefix = f"{folder}/"
        packages = packages_in(model.repository, join(model.root, folder))
        self._installed = packages.modules if packages else frozenset()

    def imported(self, file: PythonFile) -> Iterator[tuple[str, tuple[PythonFile, str]]]:
        """Yield what the imports of a file bind to the model's files; modules of Python come before those."""
        for node in file.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if found := self._module(file, alias.name, 0):
                        yield alias.asname or alias.name, (found, "")
            elif isinstance(node, ast.ImportFrom):
                holder = self._module(file, node.module or "", node.level)
                for alias in node.names:
                    inner = self._module(file, ".".join(filter(None, (node.module, alias.name))), node.level)
                    is_bound = holder and holder.scopes.may_bind(holder.scopes.module, alias.name)
                    if found := (holder if is_bound else inner or holder):
                        yield alias.asname or alias.name, (found, "" if found is inner else alias.name)

    def _module(self, file: PythonFile, name: str, level: int) -> PythonFile | None:
        """Return the file of a module; the packages that it is in are read as well."""
        parts = name.split(".")
        if len(parts) > _DEEPEST or (not level and parts[0] in sys.stdlib_module_names):
            return None
        folders = [relative_folder(file.path, level)] if level else self._roots
        found = None
        for end in range(1, len(parts) + 1):
            places = [join(folder, "/".join(parts[:end])).rstrip("/") for folder in folders]
            files = map(self._file, (path for place in places for path in (f"{place}/__init__.py", f"{place}.py")))
            found = next(filter(None, files), None)
        return found

    def _file(self, path: str) -> PythonFile | None:
        is_installed = path.removeprefix(self._prefix).partition("/")[0].partition(".")[0] in self._installed
        if path not in self._read and len(self.files) < _MOST_FILES:
            file = self._read[path] = None if is_installed else _file(self.model, path)
            self.files += [file] if file else []
        return self._read.get(path)


def every_file(model: Model) -> Iterator[PythonFile]:
    """Yield :func:`all_files` of every version that is served."""
    for first in model_files(model):
        yield from all_files(model, first)


def every_call(model: Model) -> Iterator[tuple[PythonFile, ast.Call, str]]:
    """Return the calls of :func:`every_file`, each with the full name of what it calls."""
    return ((file, call, name) for file in every_file(model) for call, name in file.calls)


def has_own(model: Model, first: PythonFile, package: str) -> bool:
    """Return whether the model may have the package: beside model.py, in its folder, or where it looks."""
    is_beside = any(package in modules_in(model, root) for root in (first.path.rpartition("/")[0], ""))
    return is_beside or (adds_folders(model, first) and _is_deeper(model, package))


def modules_in(model: Model, folder: str) -> frozenset[str]:
    """Return the names of the modules in a folder of the model, without links that lead nowhere."""
    names = (name for name in model.children(folder) if not link_to_nowhere(model, join(folder, name)))
    modules = (name.partition(".")[0] for name in names)
    return model.repository.once(f"*modules {join(model.root, folder)}", lambda: frozenset(modules))


def link_to_nowhere(model: Model, path: str) -> str:
    """Return the target of a symbolic link that leads nowhere, "" for whatever else is at ``path``."""
    entry, repository = model.tree.get(join(model.root, path)), model.repository
    is_link = entry is not None and entry.kind is Kind.SYMLINK and repository.form is Form.FOLDER
    return entry.target if entry and is_link and not (repository.path / entry.path).exists() else ""


def adds_folders(model: Model, first: PythonFile) -> bool:
    """Return whether Python may look for modules in more folders than those of the step."""
    files = all_files(model, first)
    return model.repository.once(f"*adds folders {join(model.root, first.path)}", lambda: any(map(_adds, files)))


def _adds(file: PythonFile) -> bool:
    """Return whether a file adds to sys.path, or hands it to somebody who may: who reads it, or prints it, does not."""
    handed = (call.args for call, name in file.calls if name not in ("print", "len", "list", "str", "repr"))
    nodes = [node for nodes in handed for node in nodes]
    for node in file.nodes:
        if isinstance(node, ast.Assign):
            nodes += [node.value, *node.targets]
        elif isinstance(node, ast.AugAssign | ast.Subscript) and not isinstance(getattr(node, "ctx", None), ast.Load):
            nodes.append(node.target if isinstance(node, ast.AugAssign) else node.value)
    return not file.called.isdisjoint(_ADDING) or _PATH in map(file.full_name, nodes)


def _is_deeper(model: Model, package: str) -> bool:
    names = (entry.path.rpartition("/")[2].partition(".")[0] for entry in model.tree.members)
    return package in model.repository.once("*names of modules", lambda: set(names))


def relative_folder(path: str, level: int) -> str:
    """Return the folder of the package that the dots of an import stand for."""
    for _ in range(min(level, 32)):
        path = path.rpartition("/")[0]
    return path


def unread_files(repository: Repository) -> dict[str, None]:
    """Return the paths, in order, of the files that were left out so far: they are too long or nested too deeply."""
    return repository.once("Python files that were not read", lambda: dict[str, None]())


def _file(model: Model, path: str) -> PythonFile | None:
    entry, repository = model.get(path), model.repository
    if entry is None or (entry.data is None and not (entry.size and entry.kind is Kind.FILE)):
        return None
    budget = repository.once("budget for Python", PythonBudget)
    data, shown = entry.data, model.place(path).path
    file = repository.once(
        f"*python {entry.path}", lambda: _read(data, path, shown, budget) if data is not None else None
    )
    if file is None:
        unread_files(repository)[entry.path] = None
    return file


def _read(data: bytes, path: str, shown: str, budget: PythonBudget) -> PythonFile | None:
    if not budget.may_parse(data):
        return None
    try:
        module = _parse(data)
        if isinstance(module, ParseError):
            return PythonFile(path, shown, data, error=module)
        nodes = budget.nodes(module)
        return PythonFile(path, shown, data, nodes) if nodes else None
    except (RecursionError, MemoryError):  # nested more deeply than Python takes here; elsewhere it may take more
        return None


@lru_cache(maxsize=512)
def _parse(data: bytes) -> ast.Module | ParseError:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(decode_source(data))
            # Triton imports the file, so that its name is another one.
            module.body = [inner for node in module.body for inner in (node.orelse if is_main(node) else [node])]
            if len(data) <= _MOST_COMPILED:
                compile(module, MODEL_PY, "exec", dont_inherit=True)  # return outside of functions …
            return module
    except SyntaxError as error:
        line, column = error.lineno or 1, max(error.offset or 1, 1)
        if error.text is None:  # the compiler's, which has places of nodes
            column = _letters(data, line, column - 1) + 1
        return ParseError(error.msg, line, column)
    except ValueError as error:  # NUL bytes, an unknown encoding
        return ParseError(str(error), 1, 1)


def _letters(data: bytes, line: int, column: int) -> int:
    """Return the column of a line in letters: nodes count the bytes that it has as UTF-8."""
    if column <= 0 or data.isascii():
        return column
    return len(decode_source(data).split("\n")[line - 1].encode()[:column].decode("utf-8", "replace"))
