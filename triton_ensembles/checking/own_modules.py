"""The names that a model's files take from its own modules, and that those never bind."""

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain

from triton_ensembles.archive.tree import join
from triton_ensembles.checking.environments import environment_of
from triton_ensembles.checking.imported_packages import standard_library
from triton_ensembles.checking.python.expected import is_expected
from triton_ensembles.checking.python.flow import Misuse, When, flow_of
from triton_ensembles.checking.python.name_table import taken_names
from triton_ensembles.checking.python.nodes import Try, is_changed
from triton_ensembles.checking.python.scope import bound_names
from triton_ensembles.checking.python.source import PythonFile, adds_folders, all_files, model_files, relative_folder
from triton_ensembles.checking.repository import Model
from triton_ensembles.ground.spelling import suggestion

_UNKNOWN = (b"globals", b"exec", b"setattr", b"vars(", b"locals(", b"__dict__", b"sys.modules", b"__getattr__")


MissingName = tuple[PythonFile, ast.AST, When, Misuse]  # the line that takes a name, and when it runs


def missing_names(model: Model) -> Iterator[MissingName]:
    for first in model_files(model):
        files = {file.path: file for file in all_files(model, first)}
        if len(files) == 1 or adds_folders(model, first):
            continue
        packed = environment_of(model)
        installed = standard_library() | (packed.modules if packed else frozenset())
        found = _by_name(first, files)
        modules = {name: file for name, file in found.items() if name.partition(".")[0] not in installed}
        put = _put(files, modules)
        for file in files.values():
            yield from _missing(model, file, files, modules, put)


def _by_name(first: PythonFile, files: Mapping[str, PythonFile]) -> dict[str, PythonFile]:
    """The modules by their full names; a package comes before a module, and the version folder before the model's."""
    modules: dict[str, PythonFile] = {}
    for root in ("", f"{first.path.rpartition('/')[0]}/"):
        for path in sorted(files, key=lambda path: path.endswith("/__init__.py")):
            if path.startswith(root):
                name = path.removeprefix(root).removesuffix(".py").removesuffix("/__init__")
                modules[name.replace("/", ".")] = files[path]
    return modules


def _put(files: Mapping[str, PythonFile], modules: Mapping[str, PythonFile]) -> set[str]:
    """The names that some file gives an object, and the modules whose names setattr may give."""
    nodes = chain.from_iterable(file.nodes for file in files.values())
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute) and is_changed(node)}
    calls = ((file, call) for file in files.values() for call, name in file.calls() if name == "setattr" and call.args)
    return names | {module for file, call in calls if (module := file.full_name(call.args[0])) in modules}


def _missing(
    model: Model, file: PythonFile, files: Mapping[str, PythonFile], modules: Mapping[str, PythonFile], put: set[str]
) -> Iterator[MissingName]:
    taken = [(node, module, name, modules[module]) for node, module, name in taken_names(file, modules.keys())]
    for node in file.nodes:
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        target = modules.get(node.module)
        if node.level:
            path = join(relative_folder(file.path, node.level), node.module.replace(".", "/"))
            target = files.get(f"{path}/__init__.py") or files.get(f"{path}.py")
            taken += [(node, node.module, alias.name, target) for alias in node.names if target]
        if target and node.names[0].name == "*":
            yield from _of_all(model, file, node, target)
    for node, module, name, target in taken:
        known = _names_of(model, target)
        is_missing = known is not None and not {name, module.partition(".")[0]} & put and name not in known
        if not is_missing or name.startswith(("_", "*")) or _is_rebound(module, modules):
            continue
        when = _when(file, node)
        if when and known is not None:
            yield file, node, when, _misuse(module, name, known, is_imported=isinstance(node, ast.ImportFrom))


def _of_all(model: Model, file: PythonFile, node: ast.ImportFrom, target: PythonFile) -> Iterator[MissingName]:
    """The names in ``__all__`` of a module that ``from module import *`` looks for in vain."""
    known, when = _names_of(model, target), _when(file, node)
    lists = [
        part.value
        for part in (target.module.body if target.module else ())
        if isinstance(part, ast.Assign) and any(getattr(name, "id", "") == "__all__" for name in part.targets)
    ]
    is_plain = sum(getattr(part, "id", "") == "__all__" for part in target.nodes) == 1
    if known is None or not when or not is_plain or not lists or not isinstance(lists[0], ast.List | ast.Tuple):
        return
    for element in lists[0].elts:
        if isinstance(element, ast.Constant) and isinstance(element.value, str) and element.value not in known:
            yield target, element, when, _misuse(node.module or "", element.value, known, is_imported=False)


def _misuse(module: str, name: str, known: frozenset[str], *, is_imported: bool) -> Misuse:
    error = f"AttributeError: module '{module}' has no attribute '{name}'"
    return Misuse(
        f"the module '{module}' of the model has no '{name}'",
        f"ImportError: cannot import name '{name}' from '{module}'" if is_imported else error,
        suggestion(name, known) or "define it there, or correct the name",
    )


def _names_of(model: Model, file: PythonFile) -> frozenset[str] | None:
    """All the names that a module may have, a package also those of its modules; None when they are not known."""
    names = _own_names(file)
    if names is None or not file.path.endswith("/__init__.py"):
        return names
    return names | {child.partition(".")[0] for child in model.children(file.path.rpartition("/")[0])}


@lru_cache(maxsize=128)
def _own_names(file: PythonFile) -> frozenset[str] | None:
    if file.module is None or any(text in file.data for text in _UNKNOWN):
        return None
    names = bound_names(file.module)
    shared = (name for node in file.nodes if isinstance(node, ast.Global) for name in node.names)
    return None if names is None else names | frozenset(shared)


def _is_rebound(module: str, modules: Mapping[str, PythonFile]) -> bool:
    """Whether the package may bind the module's name to something else."""
    package, _, name = module.rpartition(".")
    names = _own_names(modules[package]) if package in modules else frozenset()
    return names is None or name in names


def _when(file: PythonFile, node: ast.AST) -> When | None:
    """When a line runs; None where the file expects that the name is missing."""
    flow = flow_of(file)
    when = flow.when(node, loops_run=True)
    is_tried = any(isinstance(parent, Try) and flow.in_body(child, parent) for parent, child in flow.above(node))
    is_excused = is_tried or is_expected(file, node) or (when is When.PERHAPS and flow.function(node) is None)
    return None if is_excused else when
