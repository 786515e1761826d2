"""An example request that is made up from a config.pbtxt, until somebody writes a real one."""

import ast
import base64
import contextlib
import json
import math
import random
import struct
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from triton_ensembles.triton.model_config import ModelConfig, datatype_of

NAME = "made_up.json"
_INLINE = 1000  # numbers; more are in a file
_ANY_LENGTH, _ANY_SIDE = 8, 224  # for dims of -1: of a list, and of a picture or a volume
_DECODES = ("Image.open", "imdecode", "decode_image", "decode_jpeg", "decoders.image", "imread")
_IN_PIPELINES = b"decoders__Image"  # the same operator of DALI, in a serialized pipeline
_LONGEST = 1 << 20  # bytes of code
# By datatype: the code of struct, the dtype of NumPy.
_NUMBERS = {
    "FP16": ("e", "<f2"), "FP32": ("f", "<f4"), "FP64": ("d", "<f8"), "BOOL": ("?", "|b1"),
    "INT8": ("b", "|i1"), "INT16": ("h", "<i2"), "INT32": ("i", "<i4"), "INT64": ("q", "<i8"),
    "UINT8": ("B", "|u1"), "UINT16": ("H", "<u2"), "UINT32": ("I", "<u4"), "UINT64": ("Q", "<u8"),
}  # fmt: skip
_PICTURE = Path(__file__).with_name("picture.png")
_SENTENCE = "An example sentence."


def calls_in(model: Path) -> frozenset[str]:
    """The functions that the Python and DALI code in the version folders of a model calls, such as ``Image.open``."""
    calls = set()
    for path in sorted(model.glob("*/*")):
        if path.suffix not in (".py", ".dali") or not path.is_file() or path.stat().st_size > _LONGEST:
            continue
        content = path.read_bytes()
        if path.suffix == ".dali" and _IN_PIPELINES in content:
            calls.add("decoders.image")
        elif path.suffix == ".py":
            with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):  # check reports it
                calls |= {ast.unparse(node.func) for node in ast.walk(ast.parse(content)) if isinstance(node, ast.Call)}
    return frozenset(calls)


def has_call(calls: Iterable[str], *names: str) -> bool:
    """Return whether one of the functions is called, by these names or behind further ones: ``cv2.imdecode``."""
    return any(f".{call}".endswith(f".{name}") for call in calls for name in names)


def write_example(folder: Path, config: ModelConfig, calls: Collection[str]) -> bool:
    """Write a request for the ensemble with this ``config`` into ``folder``, and return whether it could be written.
    Numbers are random ones between 0 and 1, or 1; texts are a sentence; where the ``calls`` of a step decode pictures,
    bytes are one."""
    tensors = [tensor for tensor in config.input if not tensor.optional] or list(config.input)
    if not tensors or not {datatype_of(tensor.data_type) for tensor in tensors} <= {"BYTES", *_NUMBERS}:
        return False  # neither JSON nor NumPy has the others
    maker = _Maker(calls, batch=[1] if config.max_batch_size else [])
    inputs = [maker.tensor(tensor, _dims(tensor, config)) for tensor in tensors]
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in maker.files.items():
        (folder / name).write_bytes(content)
    (folder / NAME).write_text(json.dumps({"inputs": inputs}, indent=2) + "\n", encoding="utf-8")
    return True


def _dims(tensor: Any, config: ModelConfig) -> list[int]:
    """Return those of a warm-up request, if there is one: it has a size where the config has -1."""
    warm = [list(sample.inputs[tensor.name].dims) for sample in config.model_warmup if tensor.name in sample.inputs]
    return next((dims for dims in warm if len(dims) == len(tensor.dims)), list(tensor.dims))


class _Maker:
    """Makes the inputs of a request, and ``files`` that they name."""

    def __init__(self, calls: Collection[str], batch: list[int]) -> None:
        self.files: dict[str, bytes] = {}
        self._batch = batch
        self._pictures = has_call(calls, *_DECODES)
        self._base64, self._json = has_call(calls, "b64decode"), has_call(calls, "json.loads")

    def tensor(self, tensor: Any, dims: list[int]) -> dict[str, Any]:
        datatype = datatype_of(tensor.data_type)
        entry = {"name": tensor.name, "datatype": datatype}
        if datatype == "UINT8" and dims == [-1] and self._pictures:
            return entry | {"shape": [*self._batch, -1]} | self._file(_PICTURE.name, _PICTURE.read_bytes())
        if datatype == "BYTES":
            return entry | self._texts([*self._batch, *(max(dim, 1) for dim in dims)])
        any_size = _ANY_SIDE if len(dims) > 2 else _ANY_LENGTH
        return entry | self._numbers(datatype, [*self._batch, *(dim if dim > 0 else any_size for dim in dims)])

    def _texts(self, shape: list[int]) -> dict[str, Any]:
        count = math.prod(shape)
        if self._pictures and not self._base64 and count == 1:
            return {"shape": shape} | self._file(_PICTURE.name, _PICTURE.read_bytes())
        text = "{}" if self._json else _SENTENCE
        if self._pictures:
            text = base64.b64encode(_PICTURE.read_bytes()).decode()
        return {"shape": shape, "data": [text] * count}

    def _numbers(self, datatype: str, shape: list[int]) -> dict[str, Any]:
        count = math.prod(shape)
        source = random.Random(0)
        values: list[Any] = [datatype == "BOOL" or 1] * count
        if "FP" in datatype:
            values = [round(source.random(), 4) for _ in range(count)]
        if count <= _INLINE:
            return {"shape": shape, "data": values}
        return {"shape": shape} | self._file(f"{len(self.files)}.npy", _npy(datatype, shape, values))

    def _file(self, name: str, content: bytes) -> dict[str, Any]:
        self.files[name] = content
        return {"parameters": {"file": name}}


def _npy(datatype: str, shape: list[int], values: list[Any]) -> bytes:
    """NumPy's format, version 1.0."""
    code, dtype = _NUMBERS[datatype]
    header = repr({"descr": dtype, "fortran_order": False, "shape": tuple(shape)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    return head + struct.pack(f"<{len(values)}{code}", *values)
