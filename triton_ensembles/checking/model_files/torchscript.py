"""A TorchScript file: the arguments of its ``forward``. Source: torch/csrc/jit/docs/serialization.md.

It is a zip archive. ``data.pkl`` begins with the class of the module, and ``code/`` has that class as text, with the
types of arguments and results.
"""

import ast
import io
import pickletools
import re
import struct
import zipfile
import zlib
from typing import IO

from triton_ensembles.checking.model_files.file import ModelFile, ModelTensor
from triton_ensembles.checking.model_files.protobuf import Budget

_LARGEST_CODE = 4 << 20  # bytes of the text that has the class
_LARGEST_HEAD = 32 << 10  # bytes of "def forward(self, …) -> …:"
_LARGEST_LIST = 8 << 20  # bytes of the list of members
_SHORTEST_ENTRY = 46  # bytes of it for a member
_METHOD = "\n  def forward(self: "
_NEXT = re.compile(r"\n(?=\S)")
# How many fields of protobuf take as long.
_MEMBER, _BYTES_OF_CODE = 3, 32
_TAIL = (1 << 16) + 100  # bytes at the end of a zip archive, of which one says where that list is
_HEAD = 4096  # bytes of data.pkl: the class is the first thing in it
_PLAIN = ("Tensor", "int", "float", "bool", "str", "None", "NoneType", "number", "complex", "Device")
_GENERIC = ("List[", "Dict[")
_FORWARD = "write def forward(self, …) in the module, which calls what you mean, and save it again"
_CURE = "save it with torch.jit.script(model).save(path) or torch.jit.trace(model, example).save(path)"


def read_torchscript(file: IO[bytes], budget: Budget) -> ModelFile:
    """Raises :class:`zipfile.BadZipFile` when it is not a complete zip archive, and TooLargeError."""
    size = _size_of_list(file)
    if size > _LARGEST_LIST:
        return ModelFile()
    budget.spend(size // _SHORTEST_ENTRY * _MEMBER)
    try:
        with zipfile.ZipFile(file) as archive:
            inner = {name.partition("/")[2]: name for name in archive.namelist()}
            if "constants.pkl" not in inner and "data.pkl" in inner:
                return ModelFile("it is what torch.save wrote (weights, or a pickled module), not TorchScript", _CURE)
            return _module(archive, inner, budget)
    except (NotImplementedError, RuntimeError, zlib.error, EOFError, OverflowError, ValueError, SyntaxError):
        return ModelFile()  # a form that is not known here


def _size_of_list(file: IO[bytes]) -> int:
    """PKWARE's APPNOTE, 4.3.14 and 4.3.16."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _TAIL))
    tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    if not 0 <= end <= len(tail) - 22:
        raise zipfile.BadZipFile
    length: int = struct.unpack_from("<I", tail, end + 12)[0]
    large = tail.rfind(b"PK\x06\x06")
    if length == 2**32 - 1 and 0 <= large <= len(tail) - 56:
        length = struct.unpack_from("<Q", tail, large + 40)[0]
    return length


def _module(archive: zipfile.ZipFile, inner: dict[str, str], budget: Budget) -> ModelFile:
    if "data.pkl" not in inner:  # written before torch 1.4, or by torch.export
        return ModelFile()
    with archive.open(inner["data.pkl"]) as file:
        qualified = _first_class(file.read(_HEAD))
    module, _, name = qualified.rpartition(".")
    path = inner.get(f"code/{module.replace('.', '/')}.py")
    if not path or archive.getinfo(path).file_size > _LARGEST_CODE:
        return ModelFile()
    budget.spend(archive.getinfo(path).file_size // _BYTES_OF_CODE)
    with archive.open(path) as file:
        body = _class(file.read(_LARGEST_CODE).decode("utf-8", "replace"), name)
    if body and _METHOD not in body:
        return ModelFile("it has no method forward, which Triton calls", _FORWARD)
    signature = _forward(body)
    if signature is None:
        return ModelFile()
    arguments = signature.args.args[1:]
    kinds = tuple(ast.unparse(part.annotation) if part.annotation else "Tensor" for part in arguments)
    return ModelFile(
        inputs=tuple(ModelTensor(part.arg) for part in arguments), kinds=kinds, results=_results(signature.returns)
    )


def _first_class(data: bytes) -> str:
    try:
        for code, argument, _ in pickletools.genops(data):
            if code.name == "GLOBAL":
                return str(argument).replace(" ", ".")
    except (ValueError, IndexError):  # it was cut off
        pass
    return ""


def _class(code: str, name: str) -> str:
    """Return the text of the class, "" where it is not found. Each step goes forward: the text may be anything."""
    _, _, body = f"\n{code}\n".partition(f"\nclass {name}(Module):\n")
    after = _NEXT.search(body)
    return f"\n{body[: after.start() if after else len(body)]}\n" if body else ""


def _forward(body: str) -> ast.FunctionDef | None:
    """Return the head of the method ``forward`` of a class."""
    start = body.find(_METHOD)
    limit = start + _LARGEST_HEAD
    arrow = body.find(") -> ", start, limit)
    end = body.find(":\n", arrow, limit)
    if -1 in (start, arrow, end):
        return None
    parsed = ast.parse(f"{body[start:end].strip()}: pass").body[0]
    return parsed if isinstance(parsed, ast.FunctionDef) else None


def _results(annotation: ast.expr | None) -> tuple[str, ...] | None:
    """The type of each output, as TorchScript writes it; None for what the head does not say, such as a class."""
    if annotation is None:
        return None
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Tuple":
        inner = annotation.slice
        return tuple(map(ast.unparse, inner.elts if isinstance(inner, ast.Tuple) else [inner]))
    kind = ast.unparse(annotation)
    return (kind,) if kind in _PLAIN or kind.startswith(_GENERIC) else None
