"""Files of the model that model.py surely reads, by a path that is known: whether they are there."""

import ast
import posixpath
import re
import sys
from collections.abc import Iterator

from triton_ensembles.archive.tree import Kind, join
from triton_ensembles.check.examples import python_model
from triton_ensembles.check.fault import Finding
from triton_ensembles.check.python.file_reads import opened, read_folder, read_path
from triton_ensembles.check.python.flow import CLASS, Function, When, flow_of
from triton_ensembles.check.python.paths import REPOSITORY, Paths
from triton_ensembles.check.python.source import PythonFile, all_files, model_files
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import Example, rule
from triton_ensembles.check.rules.model_py.model_class import EXECUTE
from triton_ensembles.check.rules.model_py.names import FAILS
from triton_ensembles.check.text.unknown import UnknownValueError
from triton_ensembles.spelling import nearest

SOURCE = "python_backend r24.10 src/python_be.cc: args; src/pb_stub.cc: __file__; Python raises FileNotFoundError"
# Signs that the model asks first, or makes files itself.
_ASKING = re.compile(
    rb"exists|is_?file|is_?dir|access\(|\bstat\(|glob|walk\(|download|urlretrieve|subprocess|os\.system|Popen|shutil"
    rb"|mkdir|makedirs|touch\(|symlink|extract|chdir|tempfile|write|save|dump\(|snapshot|rename\("
    rb"""|open\([^\n]{0,200},\s*(?:mode\s*=\s*)?["'][rbt]*[wax+]"""
)
_OF_TOOLS = frozenset({".git", "__pycache__", ".ipynb_checkpoints"})  # which are not read


def _reads(name: str) -> Example:
    head = "from pathlib import Path\n\nimport triton_python_backend_utils as pb_utils\n\n\n"
    body = f"class {CLASS}:\n    def initialize(self, args):\n        here = Path(__file__).parent\n"
    read = f'        self.labels = (here / "{name}").read_text()\n\n'
    return Example(python_model(), {"1/labels.txt": "cat\n", "1/model.py": head + body + read + EXECUTE})


@rule(
    "The files of the model that model.py reads are there",
    bad=_reads("label.txt"),
    good=_reads("labels.txt"),
    words="FileNotFoundError: [Errno 2] No such file or directory: ",
)
def model_py_missing_file(model: Model) -> Iterator[Finding]:
    seen: set[tuple[ast.AST, str]] = set()
    versions = {name: number for number, name in model.versions.items()}
    for file in model_files(model):
        if any(_ASKING.search(each.data) for each in all_files(model, file)):
            continue
        paths = Paths(model, file, versions[file.path.partition("/")[0]])
        ends: dict[Function | None, int] = {}
        for call, read in _read(file):
            when = flow_of(file).when(call, loops_run=_only_literal_loops(file, call))
            function = flow_of(file).function(call)
            if function not in ends:
                ends[function] = _first_end(function)
            if when not in (When.LOAD, When.REQUEST) or ends[function] < call.lineno:
                continue
            for path in paths.of(read) or ():
                inside = _inside(path)
                if inside and (call, inside) not in seen and _is_missing(model, inside):
                    seen.add((call, inside))
                    yield _finding(model, file, call, inside, when)


def _finding(model: Model, file: PythonFile, call: ast.Call, path: str, when: When) -> Finding:
    folder, _, name = path.rpartition("/")
    tree = model.tree
    while folder and tree.get(folder) is None:
        folder = folder.rpartition("/")[0]
    rest = path.removeprefix(f"{folder}/")
    meant = nearest(rest, tree.children(folder))
    below = f"{model.root}/" if model.root else ""
    deeper = [each.path.removeprefix(below) for each in tree.below(model.root) if each.path.rpartition("/")[2] == name]
    return Finding(
        file.place(call),
        f"there is no '{rest}' in '{model.repository.place(folder).path}'",
        f"{FAILS[when]}: it cannot read the file",
        f"did you mean '{meant}'?"
        if meant
        else f"it lies in '{posixpath.dirname(deeper[0]) or '.'}' of the model: correct the path"
        if deeper
        else "add it to the folder, or correct the path",
    )


def _read(file: PythonFile) -> Iterator[tuple[ast.Call, ast.expr]]:
    for call, name in file.calls():
        read = read_path(file, call, name) or read_folder(call) or opened(file, call)
        if read is not None:
            yield call, read


def _inside(path: str) -> str:
    """The path within the repository, "" for one that is not in it."""
    whole = posixpath.normpath(path)
    return whole.removeprefix(REPOSITORY) if whole.startswith(REPOSITORY) else ""


def _is_missing(model: Model, path: str) -> bool:
    """Whether it, or a folder on the way to it, is surely not there."""
    if not model.tree.complete:
        raise UnknownValueError
    recipe, found = model.repository.recipe, ""
    for part in path.split("/"):
        found = join(found, part)
        entry = model.tree.get(found)
        if part in _OF_TOOLS or (recipe is not None and recipe.makes(found)):
            return False
        if entry is None:
            return found.startswith(f"{model.root}/") or not model.root
        if entry.kind not in (Kind.FILE, Kind.FOLDER):
            return False
    return False


def _only_literal_loops(file: PythonFile, call: ast.Call) -> bool:
    """Whether each loop around the call runs over elements that are written there, so that it surely runs."""
    for parent, _ in flow_of(file).above(call):
        iterated = [parent.iter] if isinstance(parent, ast.For | ast.AsyncFor) else []
        if isinstance(parent, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            iterated = [each.iter for each in parent.generators]
        if any(not isinstance(each, ast.List | ast.Tuple) or not each.elts for each in iterated):
            return False
    return True


def _first_end(function: Function | None) -> int:
    """The first line where a function, or a turn of a loop in it, may end without an error."""
    nodes = ast.walk(function) if function else ()
    found = (node.lineno for node in nodes if isinstance(node, ast.Return | ast.Continue | ast.Break))
    return min(found, default=sys.maxsize)
