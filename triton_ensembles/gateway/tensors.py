"""Payloads to tensors, and tensors to results, as the table declares them. No model's numerics are here."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pybase64
from tritonclient.grpc import service_pb2 as kserve
from tritonclient.utils import deserialize_bytes_tensor, serialize_byte_tensor, triton_to_np_dtype

from triton_ensembles.gateway.errors import Refused
from triton_ensembles.gateway.invocation import Fields, Raw
from triton_ensembles.gateway.table import Form, Input, Model


@dataclass(frozen=True)
class Tensor:
    """A tensor of a model, as Triton describes it.

    Args:
        datatype: of KServe v2, such as FP32.
        shape: with the batch axis, if the model has one; -1 is any size.
        batches: whether the first axis is that of the batch.
    """

    datatype: str
    shape: tuple[int, ...]
    batches: bool

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """numpy's: object for BYTES."""
        return np.dtype(triton_to_np_dtype(self.datatype))


@dataclass(frozen=True)
class Signature:
    """The tensors of a model, by name."""

    inputs: Mapping[str, Tensor]
    outputs: Mapping[str, Tensor]


def misfit(model: Model, signature: Signature) -> str:
    """Why this entry of the table does not fit Triton's model; "" if it does."""
    for kind, wanted, having in (
        ("input", model.inputs, signature.inputs),
        ("output", model.outputs, signature.outputs),
    ):
        for name in wanted:
            if name not in having:
                return f"{model}: Triton's model {model.served} has no {kind} {name}; it has {', '.join(having)}"
    if missing := signature.inputs.keys() - model.inputs.keys():
        return f"{model}: nothing says where the input {min(missing)} of Triton's model {model.served} comes from"
    for name, source in model.inputs.items():
        datatype = signature.inputs[name].datatype
        if source.form != "json" and datatype != "BYTES" and not (source.form == "base64" and datatype == "UINT8"):
            return (
                f"{model}: {source.form} becomes a BYTES tensor{' or a UINT8 one' if source.form == 'base64' else ''}, "
                f"and {name} is {datatype}"
            )
    return ""


def encode(model: Model, signature: Signature, payload: Fields | Raw) -> kserve.ModelInferRequest:
    """The request for one row. Raises :class:`Refused` (400) for a payload that names the wrong field or value."""
    values = _values(model, payload)
    request = kserve.ModelInferRequest(model_name=model.served, model_version=model.model_version)
    for name, source in model.inputs.items():
        tensor = signature.inputs[name]
        shape, content = _ENCODERS[source.form](values[source.field], source, tensor)
        request.inputs.add(name=name, datatype=tensor.datatype, shape=shape)
        request.raw_input_contents.append(content)
    for name in model.outputs:
        request.outputs.add(name=name)
    return request


def decode(model: Model, signature: Signature, response: kserve.ModelInferResponse) -> Any:
    """The client's result: what the table says of the response's one row."""
    arrays = {}
    for output, content in zip(response.outputs, response.raw_output_contents, strict=True):
        tensor = signature.outputs[output.name]
        array = _array(tensor, content).reshape(tuple(output.shape))
        arrays[output.name] = (array[0] if tensor.batches else array).tolist()
    if isinstance(model.result, str):
        return arrays[model.result]
    columns = [arrays[name] for name in model.outputs]
    if not all(isinstance(each, list) for each in columns) or len(set(map(len, columns))) > 1:
        raise Refused(500, f"{model}: its outputs {', '.join(model.outputs)} are not lists of one length")
    rows = zip(*columns, strict=True)
    if isinstance(model.result, tuple):
        return [list(row) for row in rows]
    return [dict(zip(model.result, row, strict=True)) for row in rows]


def _values(model: Model, payload: Fields | Raw) -> Mapping[str, Any]:
    """By field."""
    fields = {source.field: source.form for source in model.inputs.values()}
    if isinstance(payload, Raw):
        wanted: Form = "text" if payload.text else "base64"
        if list(fields.values()) != [wanted]:
            needs = ", ".join(f"{field} ({form})" for field, form in fields.items())
            raise Refused(400, f"{model} does not take one raw {'text' if payload.text else 'file'}: it needs {needs}")
        return {next(iter(fields)): payload.body}
    for field in fields:
        if field not in payload.values:
            raise Refused(400, f"payload.{field} is missing: {model} needs it", fields=list(fields))
    for field in payload.values:
        if field not in fields:
            raise Refused(400, f"payload.{field[:100]} is not a field of {model}", fields=list(fields))
    return payload.values


Encoded = tuple[list[int], bytes]
_JSON_KINDS = {
    "b": "true and false",
    **dict.fromkeys("iu", "integers"),
    "f": "fractions",
    "U": "strings",
    "O": "null, objects, and numbers of more than 64 bits",
}
_DATA_URL = re.compile(r"\s*data:[^,]{0,200};base64,", re.IGNORECASE)
_OTHER_BASE64 = str.maketrans("-_", "+/", " \t\r\n")


def _encode_file(value: object, source: Input, tensor: Tensor) -> Encoded:
    if isinstance(value, str):
        if found := _DATA_URL.match(value):
            value = value[found.end() :]
        try:
            value = _decoded(value)
        except ValueError as error:  # binascii.Error is one
            raise Refused(400, f"payload.{source.field} is not base64: {error}") from None
    return _encode_bytes(value, source, tensor)


def _decoded(base64: str) -> bytes:
    """Also of the alphabet for URLs, of text in lines, and without padding. Raises ValueError."""
    try:
        return pybase64.b64decode(base64, validate=True)
    except ValueError:
        plain = base64.translate(_OTHER_BASE64)
        return pybase64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)


def _encode_text(value: object, source: Input, tensor: Tensor) -> Encoded:
    try:
        value = value.encode() if isinstance(value, str) else value
        if isinstance(value, bytes):
            value.decode()
    except UnicodeError:
        raise Refused(400, f"payload.{source.field} is not UTF-8") from None
    return _encode_bytes(value, source, tensor)


def _encode_bytes(value: object, source: Input, tensor: Tensor) -> Encoded:
    if not isinstance(value, bytes):
        raise Refused(400, f"payload.{source.field} must be a string")
    if not value:
        raise Refused(400, f"payload.{source.field} is empty")
    ones = [1] * len(tensor.shape)
    if tensor.datatype == "BYTES":
        return ones, len(value).to_bytes(4, "little") + value
    return [*ones[:-1], len(value)], value


def _encode_json(value: object, source: Input, tensor: Tensor) -> Encoded:
    place = f"payload.{source.field}"
    try:
        if tensor.datatype == "BYTES":
            array = np.vectorize(_as_text, otypes=[np.object_])(np.array(value, dtype=np.object_))
        else:
            array = _numbers(value, tensor.datatype, tensor.dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise Refused(400, f"{place} cannot become a tensor of {tensor.datatype}: {error}") from None
    if tensor.batches:
        array = array[np.newaxis]
    fits = len(array.shape) == len(tensor.shape) and all(
        size in (-1, have) for size, have in zip(tensor.shape, array.shape, strict=True)
    )
    if not fits:
        wanted, given = list(tensor.shape[tensor.batches :]), list(array.shape[tensor.batches :])
        raise Refused(400, f"{place} has the dimensions {given}, and the model takes {wanted} (-1 is any)")
    content = serialize_byte_tensor(array).tobytes() if tensor.datatype == "BYTES" else array.tobytes()
    return list(array.shape), content


def _numbers(value: object, datatype: str, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    array = np.array(value)
    if not array.size:
        return array.astype(dtype)
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise TypeError(f"{_JSON_KINDS.get(array.dtype.kind, array.dtype.name)} cannot be {datatype}")
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


_ENCODERS: Mapping[Form, Callable[[Any, Input, Tensor], Encoded]] = {
    "base64": _encode_file,
    "text": _encode_text,
    "json": _encode_json,
}


def _array(tensor: Tensor, content: bytes) -> np.ndarray[Any, Any]:
    if tensor.datatype == "BYTES":
        return np.array([each.decode(errors="replace") for each in deserialize_bytes_tensor(content)], dtype=np.object_)
    return np.frombuffer(content, tensor.dtype)
