"""Calls of model.py that read a file or a folder."""

import ast

from triton_ensembles.checking.python.nodes import argument, method_of
from triton_ensembles.checking.python.source import PythonFile
from triton_ensembles.checking.python.values import text_of

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


def read_path(file: PythonFile, call: ast.Call, name: str, forgiving: bool = False) -> ast.expr | None:
    """The path that ``call`` of the function ``name`` reads; None when it may write, or reads nothing.

    With ``forgiving`` also of those that raise no error when the file is not there.
    """
    if (name == "open" and "open" not in file.names) or name in _OPENING:
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
