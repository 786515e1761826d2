"""Payloads to tensors, and tensors to results, as the table declares them. The numerics of models are in Triton."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pybase64
from tritonclient.http import InferInput, InferResult
from tritonclient.utils import triton_to_np_dtype

from triton_ensembles.host.gateway.invocation import Payload, Raw
from triton_ensembles.host.gateway.models_toml import Form, Input, Model
from triton_ensembles.host.refusal import Refused

Array = npt.NDArray[Any]
_KINDS = {
    "b": "true and false",
    **dict.fromkeys("iu", "integers"),
    "f": "fractions",
    "U": "strings",
    "O": "null, objects, and numbers of more than 64 bits",
}
"""JSON's values, by the kind of dtype that numpy gives them."""

_DATA_URL = re.compile(r"\s*data:[^,]{0,200};base64,", re.IGNORECASE)
_URL_ALPHABET = str.maketrans("-_", "+/", " \t\r\n")


@dataclass(frozen=True)
class Tensor:
    """A tensor of a model, as Triton describes it."""

    datatype: str  # of KServe v2, such as FP32
    shape: tuple[int, ...]  # with the batch axis, if the model has one; -1 is any size
    batches: bool  # whether the first axis is that of the batch


@dataclass(frozen=True)
class Signature:
    """The tensors of a model, by name."""

    inputs: Mapping[str, Tensor]
    outputs: Mapping[str, Tensor]


def misfit(model: Model, signature: Signature) -> str:
    """Why this entry of the table does not fit Triton's model; "" if it does."""
    for kind, names, tensors in (
        ("input", model.inputs, signature.inputs),
        ("output", model.outputs, signature.outputs),
    ):
        for name in names:
            if name not in tensors:
                return f"{model}: Triton's model {model.served} has no {kind} {name}; it has {', '.join(tensors)}"
    if missing := signature.inputs.keys() - model.inputs.keys():
        return f"{model}: nothing says where the input {min(missing)} of Triton's model {model.served} comes from"
    for name, source in model.inputs.items():
        datatype = signature.inputs[name].datatype
        if source.form != "json" and datatype != "BYTES" and not (source.form == "base64" and datatype == "UINT8"):
            tensor = "a BYTES tensor or a UINT8 one" if source.form == "base64" else "a BYTES tensor"
            return f"{model}: {source.form} becomes {tensor}, and {name} is {datatype}"
    return ""


def encode(model: Model, signature: Signature, payload: Payload) -> list[InferInput]:
    """The input tensors of one row. Raises :class:`Refused` (400) for a payload that names the wrong field or value."""
    values = _values(model, payload)
    inputs = []
    for name, source in model.inputs.items():
        tensor = signature.inputs[name]
        array = _ENCODERS[source.form](values[source.field], source, tensor)
        inputs.append(InferInput(name, array.shape, tensor.datatype).set_data_from_numpy(array))
    return inputs


def decode(model: Model, signature: Signature, response: InferResult) -> Any:
    """The client's result: what the table says of the response's one row."""
    columns = [_items(response.as_numpy(name), signature.outputs[name]) for name in model.outputs]
    if isinstance(model.result, str):
        return columns[0]
    if not all(isinstance(column, list) for column in columns) or len(set(map(len, columns))) > 1:
        raise Refused(500, f"{model}: its outputs {', '.join(model.outputs)} are not lists of one length")
    rows = zip(*columns, strict=True)
    if isinstance(model.result, tuple):
        return [list(row) for row in rows]
    return [dict(zip(model.result, row, strict=True)) for row in rows]


def _items(array: Array, tensor: Tensor) -> Any:
    if tensor.datatype == "BYTES":
        texts = [value.decode(errors="replace") for value in array.flat]
        array = np.array(texts, dtype=np.object_).reshape(array.shape)
    return (array[0] if tensor.batches else array).tolist()


def _values(model: Model, payload: Payload) -> Mapping[str, Any]:
    """By field."""
    forms = {source.field: source.form for source in model.inputs.values()}
    if isinstance(payload, Raw):
        if list(forms.values()) != ["text" if payload.text else "base64"]:
            fields = ", ".join(f"{field} ({form})" for field, form in forms.items())
            raise Refused(400, f"{model} does not take one raw {'text' if payload.text else 'file'}: it needs {fields}")
        return {next(iter(forms)): payload.body}
    for field in forms:
        if field not in payload:
            raise Refused(400, f"payload.{field} is missing: {model} needs it", fields=list(forms))
    for field in payload:
        if field not in forms:
            raise Refused(400, f"payload.{field[:100]} is not a field of {model}", fields=list(forms))
    return payload


def _encode_file(value: object, source: Input, tensor: Tensor) -> Array:
    if isinstance(value, str):
        prefix = _DATA_URL.match(value)
        try:
            value = _decode_base64(value[prefix.end() :] if prefix else value)
        except ValueError as error:  # binascii.Error is one
            raise Refused(400, f"payload.{source.field} is not base64: {error}") from None
    return _encode_bytes(value, source, tensor)


def _decode_base64(text: str) -> bytes:
    """Also of the alphabet for URLs, of text in lines, and without padding. Raises ValueError."""
    try:
        return pybase64.b64decode(text, validate=True)
    except ValueError:
        plain = text.translate(_URL_ALPHABET)
        return pybase64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)


def _encode_text(value: object, source: Input, tensor: Tensor) -> Array:
    try:
        value = value.encode() if isinstance(value, str) else value
        if isinstance(value, bytes):
            value.decode()
    except UnicodeError:
        raise Refused(400, f"payload.{source.field} is not UTF-8") from None
    return _encode_bytes(value, source, tensor)


def _encode_bytes(value: object, source: Input, tensor: Tensor) -> Array:
    if not isinstance(value, bytes):
        raise Refused(400, f"payload.{source.field} must be a string")
    if not value:
        raise Refused(400, f"payload.{source.field} is empty")
    array = np.array([value], np.object_) if tensor.datatype == "BYTES" else np.frombuffer(value, np.uint8)
    return array.reshape([1] * (len(tensor.shape) - 1) + [-1])


def _encode_json(value: object, source: Input, tensor: Tensor) -> Array:
    try:
        if tensor.datatype == "BYTES":
            array: Array = np.vectorize(_as_text, otypes=[np.object_])(np.array(value, dtype=np.object_))
        else:
            array = _numbers(value, tensor.datatype)
    except (TypeError, ValueError, OverflowError) as error:
        raise Refused(400, f"payload.{source.field} cannot become a tensor of {tensor.datatype}: {error}") from None
    dimensions = tensor.shape[tensor.batches :]
    pairs = zip(dimensions, array.shape, strict=False)
    if len(array.shape) != len(dimensions) or any(dimension not in (-1, size) for dimension, size in pairs):
        sizes = f"{list(array.shape)}, and the model takes {list(dimensions)} (-1 is any)"
        raise Refused(400, f"payload.{source.field} has the dimensions {sizes}")
    return array[np.newaxis] if tensor.batches else array


def _numbers(value: object, datatype: str) -> Array:
    array, dtype = np.array(value), np.dtype(triton_to_np_dtype(datatype))
    if not array.size:
        return array.astype(dtype)
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise TypeError(f"{_KINDS.get(array.dtype.kind, array.dtype.name)} cannot be {datatype}")
    if array.dtype.kind in "iu" and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if array.min() < limits.min or array.max() > limits.max:
            raise ValueError(f"a number is outside of {datatype}")
    with np.errstate(over="ignore"):
        array = array.astype(dtype)
    if dtype.kind == "f" and not np.isfinite(array).all():  # JSON has neither NaN nor infinity
        raise ValueError(f"a number is outside of {datatype}")
    return array


def _as_text(value: object) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value.encode()


_ENCODERS: Mapping[Form, Callable[[Any, Input, Tensor], Array]] = {
    "base64": _encode_file,
    "text": _encode_text,
    "json": _encode_json,
}
