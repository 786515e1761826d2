"""The files and folders that model.py reads: the calls, and the paths that an expression may be.

A path in the repository begins with :data:`REPOSITORY`, whatever the folder is called on the server.
"""

import ast
import posixpath
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import TypeAlias

from triton_ensembles.archive.tree import join
from triton_ensembles.checking.python.bindings import binding_of
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.kinds import Kind
from triton_ensembles.checking.python.nodes import argument, method_of
from triton_ensembles.checking.python.source import UTILS, PythonFile
from triton_ensembles.checking.python.types import types_of
from triton_ensembles.checking.python.values import text_of, texts_of
from triton_ensembles.checking.repository import Model

Choices: TypeAlias = tuple[str, ...] | None  # all the paths that an expression may be; None when they are not known
REPOSITORY = "/\0/"
_MOST = 16  # values of an expression
_DEEPEST = 12  # calls and names that lead to others
_LONGEST = 4096  # bytes: Linux takes no longer path
_KEEPING = frozenset(
    {"pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "os.path.join", "os.path.abspath", "os.path.realpath"}
    | {"os.path.normpath", "os.path.expanduser", "os.fspath", "str"}
)
_KEEPING_METHODS = frozenset({"resolve", "absolute", "as_posix", "expanduser", "joinpath", "__str__"})
# Functions that read what their first argument names, and raise an error when it is not there.
_READING = frozenset(
    {"numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile", "torch.load", "torch.jit.load", "joblib.load"}
    | {"pandas.read_csv", "pandas.read_json", "pandas.read_parquet", "pandas.read_pickle", "pandas.read_excel"}
    | {"PIL.Image.open", "onnx.load", "onnxruntime.InferenceSession", "tokenizers.Tokenizer.from_file"}
    | {"safetensors.torch.load_file", "safetensors.numpy.load_file", "safetensors.safe_open", "os.listdir"}
    | {"os.scandir", "torchaudio.load", "soundfile.read", "tensorflow.saved_model.load", "fasttext.load_model"}
    | {"keras.models.load_model", "tensorflow.keras.models.load_model", "os.path.getsize"}
)
_FORGIVING = frozenset({"cv2.imread"})  # they answer None
_OPENING = frozenset({"io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open"})
_NAMES = ("path", "file", "filename", "fname", "f", "filepath_or_buffer", "path_or_bytes", "path_or_buf", "fp", "io")
_OF_PATHS = frozenset({"read_text", "read_bytes"})
_PRETRAINED = "from_pretrained"  # of transformers, tokenizers and others


class Paths:
    """The paths in ``file``, model.py of ``version``."""

    def __init__(self, model: Model, file: PythonFile, version: int) -> None:
        self._file = file
        self._flow = flow_of(file)
        self._types = types_of(file)
        folder = REPOSITORY + model.root if model.root else REPOSITORY.rstrip("/")
        self._known: dict[ast.expr, Choices] = {}
        self._own = join(folder, file.path)
        self._arguments = {"model_repository": folder, "model_version": str(version)}
        if not model.repository.builds:  # which gives models other names
            self._arguments["model_name"] = model.folder

    def of(self, node: ast.expr | None) -> Choices:
        """The paths that an expression is, as :data:`REPOSITORY` says, or as the text has it."""
        return self._of(node, 0) if node is not None else None

    def _of(self, node: ast.expr, depth: int) -> Choices:
        if depth > _DEEPEST:
            return None
        if node not in self._known:
            self._known[node] = None  # for what is defined by itself
            self._known[node] = self._evaluated(node, depth)
        return self._known[node]

    def _evaluated(self, node: ast.expr, depth: int) -> Choices:
        if isinstance(node, ast.Name):
            return self._of_name(node, depth)
        if isinstance(node, ast.Call):
            return self._of_call(node, depth)
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node, depth)
        if isinstance(node, ast.Subscript):
            return self._of_subscript(node, depth)
        if isinstance(node, ast.JoinedStr):
            formatted = [part for part in node.values if isinstance(part, ast.FormattedValue)]
            if any(part.conversion != -1 or part.format_spec for part in formatted):
                return None
            parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
            return self._combined("".join, parts, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._combined("".join, [node.left, node.right], depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            return self._filled("%s", node.left, values, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return self._combined(_joined, [node.left, node.right], depth)
        return texts_of(self._file, node)

    def _of_name(self, node: ast.Name, depth: int) -> Choices:
        if node.id == "__file__" and self._flow.is_builtin(node):
            return (self._own,)
        texts = texts_of(self._file, node)
        binding = binding_of(self._flow, node) if texts is None else None
        if binding is None or binding.target is not None:
            return texts
        if binding.function:
            return self._of_parameter(self._types.passed(binding.function, node.id), depth)
        return self._of(binding.value, depth + 1) if binding.value else None

    def _of_parameter(self, passed: list[ast.expr], depth: int) -> Choices:
        """The paths that the calls of a helper pass, if all of them certainly run."""
        if len(passed) > 1 and not all(self._flow.when(value).is_certain for value in passed[:_MOST]):
            return None
        choices = [self._of(value, depth + 1) for value in passed] if len(passed) <= _MOST else []
        paths = tuple(path for choice in choices for path in choice or ())
        return paths if paths and None not in choices and len(paths) <= _MOST else None

    def _of_call(self, node: ast.Call, depth: int) -> Choices:
        name = self._file.full_name(node.func)
        if name == f"{UTILS}.get_model_dir":
            return (posixpath.dirname(self._own),)
        if name in _KEEPING and (name != "str" or self._flow.is_builtin(node.func)):
            return self._combined(_joined, node.args, depth) if node.args else None
        if name == "os.path.dirname" and len(node.args) == 1:
            return self._combined(lambda parts: posixpath.dirname("".join(parts)), node.args, depth)
        if not isinstance(node.func, ast.Attribute):
            return None
        if node.func.attr == "with_name" and len(node.args) == 1:
            return self._combined(
                lambda parts: posixpath.join(posixpath.dirname(parts[0]), parts[1]),
                [node.func.value, *node.args],
                depth,
            )
        if node.func.attr == "format" and not node.keywords:
            return self._filled("{}", node.func.value, node.args, depth)
        if node.func.attr in _KEEPING_METHODS:
            return self._combined(_joined, [node.func.value, *node.args], depth)
        if node.func.attr == "get" and len(node.args) == 1:
            return self._of_key(node.func.value, node.args[0])
        return None

    def _of_attribute(self, node: ast.Attribute, depth: int) -> Choices:
        if node.attr == "parent":
            return self._combined(lambda parts: posixpath.dirname("".join(parts)), [node.value], depth)
        value = self._types.attribute(node)
        return self._of(value, depth + 1) if value else texts_of(self._file, node)

    def _of_subscript(self, node: ast.Subscript, depth: int) -> Choices:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "parents":
            number = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if not isinstance(number, int) or not 0 <= number < _DEEPEST:
                return None
            return self._combined(
                lambda parts: reduce(lambda path, _: posixpath.dirname(path), range(number + 1), "".join(parts)),
                [node.value.value],
                depth,
            )
        return self._of_key(node.value, node.slice) or texts_of(self._file, node)

    def _of_key(self, holder: ast.expr, key: ast.expr) -> Choices:
        """The text of ``args["model_repository"]`` and its like."""
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            return None
        text = self._arguments.get(key.value)
        return (text,) if text and self._types.kind(holder) is Kind.ARGS else None

    def _filled(self, mark: str, pattern: ast.expr, values: list[ast.expr], depth: int) -> Choices:
        """``"%s/%s" % (a, b)``, ``"{}/{}".format(a, b)``."""
        text = pattern.value if isinstance(pattern, ast.Constant) else None
        pieces = text.split(mark) if isinstance(text, str) else []
        if len(pieces) != len(values) + 1 or any(set(piece) & set("%{}") for piece in pieces):
            return None
        fill = "{}".join(pieces).format
        return self._combined(lambda parts: fill(*parts), values, depth)

    def _combined(self, join_parts: Callable[[Sequence[str]], str], parts: list[ast.expr], depth: int) -> Choices:
        choices: list[tuple[str, ...]] = []
        count = 1
        for part in parts:
            values = self._of(part, depth + 1)
            count *= len(values or ())
            if not values or count > _MOST or len(parts) > _MOST:
                return None
            choices.append(values)
        paths = tuple(join_parts(choice) for choice in product(*choices))
        return paths if all(len(path) <= _LONGEST for path in paths) else None


def _joined(parts: Sequence[str]) -> str:
    return posixpath.join(*parts)


def read_path(file: PythonFile, call: ast.Call, name: str, forgiving: bool = False) -> ast.expr | None:
    """The path that ``call`` of the function ``name`` reads; None when it may write, or reads nothing.

    With ``forgiving`` also of those that raise no error when the file is not there.
    """
    if (name == "open" and flow_of(file).is_builtin(call.func)) or name in _OPENING:
        return _first(call) if _only_reads(file, call, 1) else None
    if name in _READING or (forgiving and name in _FORGIVING):
        return _first(call)
    if isinstance(call.func, ast.Attribute) and call.func.attr in _OF_PATHS:
        return call.func.value
    return None


def read_folder(call: ast.Call) -> ast.expr | None:
    """The folder of a tokenizer or a model that ``call`` reads, if it is one and not a name of a hub."""
    return argument(call, 0, "pretrained_model_name_or_path") if method_of(call) == _PRETRAINED else None


def opened(file: PythonFile, call: ast.Call) -> ast.expr | None:
    """The expression before ``.open()``, a method that other objects have as well."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "open" and _only_reads(file, call, 0):
        return call.func.value
    return None


def _first(call: ast.Call) -> ast.expr | None:
    return next((path for name in _NAMES if (path := argument(call, 0, name)) is not None), None)


def _only_reads(file: PythonFile, call: ast.Call, position: int) -> bool:
    node = argument(call, position, "mode")
    mode = "r" if node is None else text_of(file, node) or ""
    is_hidden = any(keyword.arg in (None, "opener") for keyword in call.keywords)
    return not is_hidden and "r" in mode and "+" not in mode
