"""Files of the model that model.py certainly reads, by a path that is known: whether they are there."""

import ast
import posixpath
import re
from collections.abc import Iterator

from triton_ensembles.archive.tree import Kind, join
from triton_ensembles.checking.python.examples import initializing_with_labels
from triton_ensembles.checking.python.flow import When, flow_of, may_end_before
from triton_ensembles.checking.python.nodes import Comprehension
from triton_ensembles.checking.python.paths import REPOSITORY, Paths, opened, read_folder, read_path
from triton_ensembles.checking.python.source import PythonFile, all_files, model_files
from triton_ensembles.checking.rule import Finding, Model, rule
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.spelling import nearest

SOURCE = "python_backend r24.10 src/python_be.cc: args; src/pb_stub.cc: __file__; Python raises FileNotFoundError"
# Signs that the model looks first, or makes files itself.
_ASKING = re.compile(
    rb"exists|is_?file|is_?dir|access\(|\bstat\(|glob|walk\(|download|urlretrieve|subprocess|os\.system|Popen|shutil"
    rb"|mkdir|makedirs|touch\(|symlink|extract|chdir|tempfile|write|save|dump\(|snapshot|rename\("
    rb"""|open\([^\n]{0,200},\s*(?:mode\s*=\s*)?["'][rbt]*[wax+]"""
)
_OF_TOOLS = frozenset({".git", "__pycache__", ".ipynb_checkpoints"})  # which are not read
_HERE = "here = Path(__file__).parent"


@rule(
    "The files of the model that model.py reads are there",
    bad=initializing_with_labels(_HERE, 'self.labels = (here / "label.txt").read_text()'),
    good=initializing_with_labels(_HERE, 'self.labels = (here / "labels.txt").read_text()'),
    words="FileNotFoundError: [Errno 2] No such file or directory: ",
)
def model_py_missing_file(model: Model) -> Iterator[Finding]:
    seen: set[tuple[ast.AST, str]] = set()
    versions = {name: number for number, name in model.versions.items()}
    for file in model_files(model):
        if any(_ASKING.search(part.data) for part in all_files(model, file)):
            continue
        paths = Paths(model, file, versions[file.path.partition("/")[0]])
        for call, name in file.calls():
            node = read_path(file, call, name) or read_folder(call) or opened(file, call)
            if node is None:
                continue
            when = flow_of(file).when(call, loops_run=_only_literal_loops(file, call))
            if not when.is_certain or may_end_before(flow_of(file).function(call), call):
                continue
            for path in map(_within_repository, paths.of(node) or ()):
                if path and (call, path) not in seen and _is_missing(model, path):
                    seen.add((call, path))
                    yield _finding(model, file, call, path, when)


def _finding(model: Model, file: PythonFile, call: ast.Call, path: str, when: When) -> Finding:
    folder, _, name = path.rpartition("/")
    tree = model.tree
    while folder and tree.get(folder) is None:
        folder = folder.rpartition("/")[0]
    missing = path.removeprefix(f"{folder}/")
    message = f"there is no '{missing}' in '{model.repository.place(folder).path}'"
    paths = (entry.path for entry in tree.below(model.root))
    deeper = next((entry for entry in paths if entry.rpartition("/")[2] == name), None)
    cure = "add it to the folder, or correct the path"
    if meant := nearest(missing, tree.children(folder)):
        cure = f"did you mean '{meant}'?"
    elif deeper:
        home = posixpath.dirname(deeper.removeprefix(f"{model.root}/" if model.root else "")) or "."
        cure = f"it lies in '{home}' of the model: correct the path"
    return Finding(file.place(call), message, f"{when.effect}: it cannot read the file", cure)


def _within_repository(path: str) -> str:
    """The path within the repository, "" for one that is not in it."""
    whole = posixpath.normpath(path)
    return whole.removeprefix(REPOSITORY) if whole.startswith(REPOSITORY) else ""


def _is_missing(model: Model, path: str) -> bool:
    """Whether a file, or a folder on the way to it, is certainly not there."""
    if not model.tree.complete:
        raise UnknownValueError
    recipe = model.repository.recipe
    way = ""
    for part in path.split("/"):
        way = join(way, part)
        entry = model.tree.get(way)
        if part in _OF_TOOLS or (recipe is not None and recipe.makes(way)):
            return False
        if entry is None:
            return way.startswith(f"{model.root}/") or not model.root
        if entry.kind not in (Kind.FILE, Kind.FOLDER):
            return False
    return False


def _only_literal_loops(file: PythonFile, call: ast.Call) -> bool:
    """Whether each loop around the call runs over elements that are written there, so that it certainly runs."""
    for parent, _ in flow_of(file).above(call):
        iterated = [parent.iter] if isinstance(parent, ast.For | ast.AsyncFor) else []
        if iterated and any(isinstance(node, ast.Continue | ast.Break) for node in ast.walk(parent)):
            return False
        if isinstance(parent, Comprehension):
            iterated = [generator.iter for generator in parent.generators]
        if any(not isinstance(elements, ast.List | ast.Tuple) or not elements.elts for elements in iterated):
            return False
    return True
