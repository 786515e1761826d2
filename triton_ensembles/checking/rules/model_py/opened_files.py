"""Files that model.py opens: a relative path is relative to the folder that the server was started in."""

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

from triton_ensembles.archive.tree import join
from triton_ensembles.checking.python.examples import initializing_with_labels
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.nodes import argument
from triton_ensembles.checking.python.source import PythonFile, every_file
from triton_ensembles.checking.python.values import text_of
from triton_ensembles.checking.rule import Finding, Model, Severity, rule

SOURCE = "python_backend r24.10 src/stub_launcher.cc: the stub inherits the working folder of tritonserver"
_IN_VERSION = 'Path(args["model_repository"], args["model_version"], "{name}")'

# Functions that read what their first argument names, which must be there.
_READING = frozenset(
    {"numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile", "torch.load", "torch.jit.load", "joblib.load"}
    | {"pandas.read_csv", "pandas.read_json", "pandas.read_parquet", "pandas.read_pickle", "pandas.read_excel"}
    | {"PIL.Image.open", "onnx.load", "onnxruntime.InferenceSession", "tokenizers.Tokenizer.from_file", "cv2.imread"}
    | {"safetensors.torch.load_file", "safetensors.numpy.load_file", "safetensors.safe_open", "os.listdir"}
    | {"os.scandir", "torchaudio.load", "soundfile.read", "tensorflow.saved_model.load", "fasttext.load_model"}
    | {"keras.models.load_model", "tensorflow.keras.models.load_model", "os.path.getsize"}
)
_LEAVING = ("os.chdir", "os.fchdir", "contextlib.chdir")
_OPENING = frozenset({"io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open"})
_NAMES = ("path", "file", "filename", "fname", "f", "filepath_or_buffer", "path_or_bytes", "path_or_buf", "fp", "io")

GOOD = initializing_with_labels(f"self.labels = {_IN_VERSION.format(name='labels.txt')}.read_text()")


@rule(
    "model.py opens files by their absolute paths",
    bad=initializing_with_labels('self.labels = open("labels.txt").read()'),
    words="FileNotFoundError: [Errno 2] No such file or directory: 'labels.txt'",
    lower=Severity.WARNING,
)
def model_py_relative_file(model: Model) -> Iterator[Finding]:
    """Yield a warning where the line may never run, or the file is not one of the model's."""
    for file, call, name in _relative(model):
        is_certain = flow_of(file).when(call).is_certain and _is_own(model, file, name)
        message = f"'{name}' is a relative path"
        effect = "FileNotFoundError: Python looks in the folder that tritonserver was started in, not beside model.py"
        cure = f"open {_IN_VERSION.format(name=name)}"
        yield Finding(file.place(call), message, effect, cure, None if is_certain else Severity.WARNING)


def _relative(model: Model) -> Iterator[tuple[PythonFile, ast.Call, str]]:
    for file in every_file(model):
        for call, name in file.calls if file.called.isdisjoint(_LEAVING) else ():
            node = _read_path(file, call, name)
            path = _text(file, node) if node else None
            if path and not path.startswith(("/", "~")) and "://" not in path:
                yield file, call, path


def _read_path(file: PythonFile, call: ast.Call, name: str) -> ast.expr | None:
    """Return the path that a call reads; None when it may write, or reads nothing."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("read_text", "read_bytes"):
        return call.func.value
    if name in _OPENING or (name == "open" and file.scopes.is_builtin(call.func)):
        node = argument(call, 1, "mode")
        mode = "r" if node is None else text_of(file, node) or ""
        is_hidden = any(keyword.arg in (None, "opener") for keyword in call.keywords)
        if is_hidden or "r" not in mode or "+" in mode:
            return None
    elif name not in _READING:
        return None
    return next((path for name in _NAMES if (path := argument(call, 0, name)) is not None), None)


def _text(file: PythonFile, node: ast.expr) -> str | None:
    """Return the path in a text, or in ``Path("a", "b")``."""
    if isinstance(node, ast.Call) and file.full_name(node.func) in ("pathlib.Path", "os.path.join"):
        parts = [text_of(file, part) for part in node.args]
        return str(PurePosixPath(*[part for part in parts if part])) if parts and None not in parts else None
    return text_of(file, node)


def _is_own(model: Model, file: PythonFile, name: str) -> bool:
    folders = (file.path.rpartition("/")[0], "")
    return any(model.get(join(folder, str(PurePosixPath(name)))) is not None for folder in folders)
