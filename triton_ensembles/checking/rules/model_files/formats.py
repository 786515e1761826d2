"""Model files that no backend can load, whatever the config says: pointers, pieces, pages, empty files and folders."""

from collections.abc import Iterator

from triton_ensembles.archive.tree import Kind, join
from triton_ensembles.checking.environments import MODEL_FOLDER, PARAMETER, reference
from triton_ensembles.checking.examples import IDENTITY, onnx_model, parameter, python_model
from triton_ensembles.checking.loaded_files import ONNX_IN_FOLDER, file_of, loaded_files, step_files
from triton_ensembles.checking.rule import Example, Finding, Model, Severity, rule
from triton_ensembles.triton.backends import LOADS_FILE
from triton_ensembles.triton.pip_server import STUB

SOURCE = "backends of r24.10; the specification of Git LFS pointers"
_POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)
_FOLDERS = frozenset({"onnxruntime", "openvino", "tensorflow", "fil"})  # those that also load a folder
_SAVED_MODEL = ("saved_model.pb", "saved_model.pbtxt")  # in its folder
_ENVIRONMENT = parameter(PARAMETER, f"{MODEL_FOLDER}/env.tar.gz")
_LARGEST_POINTER = 1024  # bytes, by the specification
_MOST_SMALL_FILES = 1000  # of a model, in which pointers are looked for


@rule(
    "A model file is what its backend loads",
    bad=onnx_model(file=_POINTER),
    good=onnx_model(),
    words="cannot load model.onnx",
)
def model_file_broken(model: Model) -> Iterator[Finding]:
    backend = model.backend
    for path, entry in loaded_files(model) if backend.name in LOADS_FILE else ():
        effect = f"the {backend.name} backend cannot load it, so Triton does not load the model"
        if entry.kind is Kind.SYMLINK and not (model.repository.path / entry.path).exists():
            message = f"this link leads nowhere ('{entry.target}'), and it should be the model file"
            effect = "the load fails, or never ends" if backend.name == "python" else effect
            yield Finding(model.place(path), message, effect, "correct its target")
        elif entry.kind is Kind.OTHER:
            message = f"this is a {entry.kind.value}, and it should be the model file"
            yield Finding(model.place(path), message, "reading it never ends, and neither does the load")
        elif entry.is_folder:
            if backend.name not in _FOLDERS:
                yield Finding(model.place(path), "this is a folder, and it should be the model file", effect)
            elif backend.name == "onnxruntime" and not model.is_made(path):
                message = f"this is a folder, and there is no {ONNX_IN_FOLDER} in it"
                yield Finding(model.place(path), message, effect, "put the file itself under this name")
            elif backend.platform == "tensorflow_savedmodel":
                yield from _saved_model(model, path, effect)
            continue
        file = file_of(model, path)
        # An empty model.py has no class, which model-py-no-class says.
        if file and file.broken and not (backend.name == "python" and not entry.size):
            message = f"{path.rpartition('/')[2]} is no model: {file.broken}"
            yield Finding(model.place(path), message, effect, file.cure)
    for path, _ in step_files(model):
        if (file := file_of(model, path)) and file.broken:
            message = f"{path.rpartition('/')[2]} is no model: {file.broken}"
            effect = "the step's engine cannot load it, so Triton does not load the fused ensemble"
            yield Finding(model.place(path), message, effect, file.cure)


def _saved_model(model: Model, path: str, effect: str) -> Iterator[Finding]:
    for name in _SAVED_MODEL:
        inner = join(path, name)
        if entry := model.get(inner):
            file = file_of(model, inner)
            if file and file.broken and entry.kind is Kind.FILE:
                yield Finding(model.place(inner), f"{name} is no model: {file.broken}", effect, file.cure)
            return
    if not model.is_made(path):
        message = "this folder has no saved_model.pb, so there is no SavedModel in it"
        yield Finding(model.place(path), message, effect, "copy all that tf.saved_model.save wrote into it")


@rule(
    "The folder of a model holds files, not pointers of Git LFS",
    lower=Severity.WARNING,
    bad=Example(python_model(_ENVIRONMENT), {"1/model.py": IDENTITY, "env.tar.gz": _POINTER}),
    good=python_model(),
    words="archive_read_open_filename() failed",
)
def file_lfs_pointer(model: Model) -> Iterator[Finding]:
    loaded = {entry.path for _, entry in loaded_files(model)}
    loaded |= {join(path, name) for path in loaded for name in _SAVED_MODEL}  # model-file-broken says it
    for path, _ in loaded_files(model):  # onnx-external-data is about its weights
        folder, file = path.rpartition("/")[0], file_of(model, path)
        loaded |= {join(model.root, join(folder, location)) for location in (file.external if file else ())}
    looked_at, named = 0, reference(model)
    waiting = [""] if model.has_config or model.versions else []
    while waiting:
        folder = waiting.pop()
        for name in model.children(folder):
            path = join(folder, name)
            entry = model.get(path)
            if entry is None or looked_at >= _MOST_SMALL_FILES:
                continue
            if entry.kind is Kind.FOLDER:
                waiting.append(path)
            elif entry.size <= _LARGEST_POINTER and entry.path not in loaded and entry.kind is Kind.FILE:
                looked_at += not model.repository.is_archive and entry.data is None
                small_file = file_of(model, path)
                if small_file and small_file.is_pointer:
                    message = f"'{name}' is a pointer of Git LFS, not the file itself"
                    is_stub = path == STUB and model.is_python
                    is_needed = is_stub or (named is not None and named.path == entry.path)
                    effect = "" if is_needed else "whatever reads it fails or reads a text of three lines"
                    if is_stub:
                        effect = "it cannot run, and the load never ends"
                    severity = None if is_needed else Severity.WARNING
                    yield Finding(model.place(path), message, effect, small_file.cure, severity)
