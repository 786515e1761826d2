"""The model files of a repository: read where they lie, or noted while their archive was read."""

from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO

from triton_ensembles.archive.tree import Entry, Kind, join
from triton_ensembles.checking.backend import Backend
from triton_ensembles.checking.model_files.file import ModelFile
from triton_ensembles.checking.model_files.read import FileReader
from triton_ensembles.checking.repository import Model
from triton_ensembles.runtime.fused.plan import PLAN, STEPS
from triton_ensembles.triton.model_formats import FORMATS, ONNX, ModelFormat

_SUFFIXES = tuple(form.suffix for form in FORMATS if form.made)
ONNX_IN_FOLDER = ONNX.file  # onnxruntime_backend r24.10 onnxruntime.cc LoadModel


def loaded_files(model: Model) -> Iterator[tuple[str, Entry]]:
    """The path, within the model's folder, of the file that the backend loads of each version that is served, also
    without a config.pbtxt. A file that is not there is left out, another rule is about it, and so is one that the build
    makes."""
    config, backend = model.config, model.backend
    is_left_out = model.repository.builds and not model.has_config
    if is_left_out or not backend.file or model.is_ensemble or config.cc_model_filenames:
        return
    for number in model.served_versions:
        path = join(model.versions[number], backend.file)
        if backend.name == "onnxruntime" and (entry := model.get(path)) and entry.is_folder:
            inner = join(path, ONNX_IN_FOLDER)
            path = inner if model.get(inner) else path
        if (entry := model.get(path)) and not model.is_made(path):
            yield path, entry


def step_files(model: Model) -> Iterator[tuple[str, Entry]]:
    """The model files of the steps of a fused ensemble, by the ends of their names."""
    for number in model.served_versions:
        version = model.versions[number]
        for step in model.children(join(version, STEPS)) if model.get(join(version, PLAN)) else ():
            for folder in model.children(inside := join(join(version, STEPS), step)):
                for name in model.children(join(inside, folder)):
                    path = join(join(inside, folder), name)
                    if name.endswith(_SUFFIXES) and (entry := model.get(path)):
                        yield path, entry


def file_of(model: Model, path: str) -> ModelFile | None:
    """The facts about the model's file at ``path``; None for nothing, for folders, and for links in archives."""
    entry, repository = model.get(path), model.repository
    if entry is None or entry.is_folder or entry.kind not in (Kind.FILE, Kind.SYMLINK):
        return None
    if entry.kind is Kind.SYMLINK and (repository.is_archive or not entry.size):
        return None
    if entry.data is not None:
        return FileReader()(path, entry.size, BytesIO(entry.data))
    if repository.is_archive:
        return entry.summary if isinstance(entry.summary, ModelFile) else None
    return repository.once(f"*{entry.path}", lambda: _read(model, path, entry))


def _read(model: Model, path: str, entry: Entry) -> ModelFile | None:
    reader = model.repository.once("*model files", FileReader)
    with suppress(OSError), (model.repository.path / entry.path).open("rb") as file:
        return reader(path, entry.size, file, _format(model.backend, path))
    return None


def files_read(model: Model, backend: str) -> Iterator[tuple[str, ModelFile]]:
    """The files of :func:`loaded_files` that can be read, if the model is one of ``backend``."""
    for path, _ in loaded_files(model) if model.backend.name == backend else ():
        file = file_of(model, path)
        if file and not file.broken:
            yield path, file


def _format(backend: Backend, path: str) -> ModelFormat | None:
    """Return the format that the backend expects of its own file, whatever it is called."""
    if path.partition("/")[2].partition("/")[0] != backend.file:
        return None
    return next((form for form in FORMATS if form.platform and form.platform == backend.platform), None)
