"""A file that may be a model: its kind by its first bytes, and the facts of its format."""

import io
import zipfile
from typing import IO

from triton_ensembles.checking.model_files.file import ModelFile
from triton_ensembles.checking.model_files.graphdef import read_graphdef
from triton_ensembles.checking.model_files.onnx import read_onnx
from triton_ensembles.checking.model_files.protobuf import Budget, MalformedError, Message, TooLargeError
from triton_ensembles.checking.model_files.saved_model import FILE, read_saved_model
from triton_ensembles.checking.model_files.torchscript import read_torchscript
from triton_ensembles.triton.model_formats import GRAPHDEF, ONNX, SAVED_MODEL, TORCHSCRIPT, ModelFormat

_HEAD = 512
_LARGEST_COPY = 64 << 20  # bytes of a TorchScript file within an archive, whose list of members is at its end
_LFS = (b"version https://git-lfs.github.com/", b"version https://hawser.github.com/")
_ZIP = b"PK\x03\x04"
_AGAIN = "copy or download it again"
_READ = (ONNX, GRAPHDEF, TORCHSCRIPT)
# Of ModelProto, GraphDef and SavedModel.
_FIELDS = {ONNX: range(1, 27), GRAPHDEF: range(1, 6), SAVED_MODEL: range(1, 3)}


class FileReader:
    """Reads the files of one repository, within one budget."""

    def __init__(self) -> None:
        self._budget = Budget()

    def __call__(self, path: str, size: int, file: IO[bytes], format: ModelFormat | None = None) -> ModelFile | None:
        """Return the facts about the file of ``size`` bytes, None for nothing.

        ``file`` can be read forward, a plain file on disk also anywhere; ``format`` is given where the end of ``path``
        does not say it.
        """
        format = format or next((form for form in _READ if path.endswith(form.suffix)), None)
        if format in (None, SAVED_MODEL):  # a folder with one file that is read
            format = SAVED_MODEL if path.rpartition("/")[2] == FILE else None
        if size == 0:
            return ModelFile("it is empty", _AGAIN)
        head = file.read(min(size, _HEAD))
        if known := _by_head(head):
            return known
        on_disk = isinstance(file, io.BufferedReader) and isinstance(file.raw, io.FileIO)
        message = Message(file, size, self._budget, head, on_disk=on_disk)
        try:
            if format is TORCHSCRIPT:
                return _torchscript(head, size, file, on_disk, self._budget)
            if format is ONNX:
                return None if head[4:8] == b"ORTM" else read_onnx(message)  # ONNX Runtime's own form
            if format is SAVED_MODEL:
                return read_saved_model(message)
            return read_graphdef(message) if format is GRAPHDEF else None
        except TooLargeError:
            return None
        except MalformedError as error:
            if format is None:  # which may be anything
                return None
            if error.number in _FIELDS[format]:
                return ModelFile("it breaks off before its end", _AGAIN)
            return ModelFile(f"it is not {format.noun}", f"save {format.noun} under this name")


def _torchscript(head: bytes, size: int, file: IO[bytes], on_disk: bool, budget: Budget) -> ModelFile | None:
    if not head.startswith(_ZIP):
        return ModelFile(f"it is not {TORCHSCRIPT.noun}, which is a zip archive", "save it with torch.jit.save")
    if not on_disk and size > _LARGEST_COPY:
        return None
    try:
        source = file if on_disk else io.BytesIO(head + file.read())
        return read_torchscript(source, budget)
    except zipfile.BadZipFile:
        return ModelFile("it breaks off before its end: the list of its members is missing", _AGAIN)


def _by_head(head: bytes) -> ModelFile | None:
    if head.startswith(_LFS):
        message = "it is a pointer of Git LFS, not the file itself"
        return ModelFile(message, "fetch the file: git lfs pull", is_pointer=True)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head")):
        return ModelFile("it is a web page (HTML), which some download saved in its place", _AGAIN)
    if start.startswith(b"<?xml") and b"<error>" in start:
        return ModelFile("it is an error message of a store (XML), which some download saved in its place", _AGAIN)
    return None
