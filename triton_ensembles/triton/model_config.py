"""config.pbtxt: read as protobuf text, written in the style of NVIDIA's documentation.

The message is ``inference.ModelConfig`` of Triton's model_config.proto.
"""

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from io import StringIO
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import read_text
from triton_ensembles.triton.model_config_message import DataType, ModelConfig, ModelInstanceGroup

__all__ = [
    "CONFIG",
    "DataType",
    "ModelConfig",
    "ModelInstanceGroup",
    "config_of",
    "datatype_of",
    "format_config",
    "in_order",
    "order_of",
    "parse_config",
    "read_config",
]

CONFIG = "config.pbtxt"
_LONGEST = 16 << 20  # bytes

# The fields that NVIDIA's examples begin with; the others follow by field number.
_FIRST = ("name", "platform", "backend", "max_batch_size", "input", "output")


def parse_config(text: str, path: str | os.PathLike[str]) -> ModelConfig:
    """Parse the text of a config.pbtxt.

    Raises:
        EnsembleError: a field or an enum is unknown, or the syntax is wrong; it names the line.
    """
    try:
        return text_format.Parse(text, ModelConfig())
    except text_format.ParseError as error:
        # str(error) is "line:column : message"; the number is an attribute of its own.
        message = str(error).split(" : ", 1)[-1].strip()
        raise EnsembleError(message, path=path, line=error.GetLine()) from error


def read_config(path: Path) -> ModelConfig:
    """Read the file at ``path`` (a config.pbtxt). Raises :class:`EnsembleError`."""
    return parse_config(read_text(path, _LONGEST), path)


def config_of(model: Path) -> ModelConfig:
    """The config of the model in the folder ``model``; empty without a config.pbtxt, or with one that is wrong."""
    with suppress(EnsembleError):
        return read_config(model / CONFIG) if (model / CONFIG).is_file() else ModelConfig()
    return ModelConfig()


def in_order(config: ModelConfig) -> list[Any]:
    """The steps of the DAG, each after those whose tensors it reads, and those that can run first in their order."""
    uses = config.ensemble_scheduling.step
    writers = {tensor: number for number, use in enumerate(uses) for tensor in use.output_map.values()}
    reads = ({writers[tensor] for tensor in use.input_map.values() if tensor in writers} for use in uses)
    return [uses[number] for number in order_of(dict(enumerate(reads)))]


def order_of(before: Mapping[int, Collection[int]]) -> list[int]:
    """The steps, by their numbers, each after those that it waits for; without those that wait for a cycle."""
    sorter, order = TopologicalSorter(before), list[int]()
    with suppress(CycleError):
        sorter.prepare()
    while ready := sorted(sorter.get_ready()):
        order += ready
        sorter.done(*ready)
    return order


def datatype_of(data_type: int) -> str:
    """The name that KServe v2 has for a data type: ``FP32``, or ``BYTES`` for TYPE_STRING."""
    name = DataType.Name(data_type) if data_type in DataType.values() else str(data_type)
    return name.removeprefix("TYPE_").replace("STRING", "BYTES")


def format_config(config: ModelConfig) -> str:
    """The text of a config.pbtxt, with repeated messages as ``field [ { … }, { … } ]``.

    protobuf's own printer repeats ``input { … }``, which is valid but unusual (triton server issue 4421). SageMaker's
    front end finds the ensemble by the regular expression ``platform:(\\s)*\\"ensemble\\"``, so the colon directly
    follows the field's name and strings are in double quotes.
    """
    return "".join(f"{line}\n" for line in _lines(config, first=_FIRST))


def _lines(message: Message, first: tuple[str, ...] = ()) -> list[str]:
    rank = {name: number for number, name in enumerate(first)}
    fields = sorted(message.ListFields(), key=lambda item: (rank.get(item[0].name, len(rank)), item[0].number))
    return [line for field, value in fields for line in _field(field, value)]


def _field(field: FieldDescriptor, value: Any) -> list[str]:
    if field.message_type is not None:
        if field.message_type.GetOptions().map_entry:  # sorted by key, because maps have no order
            lines: list[str] = []
            for key in sorted(value):
                entry = value.GetEntryClass()(key=key, value=value[key])
                parts = (_field(part, getattr(entry, part.name)) for part in entry.DESCRIPTOR.fields)
                lines += _block(f"{field.name} {{", [line for part in parts for line in part], "}")
            return lines
        if not field.is_repeated:
            return _block(f"{field.name} {{", _lines(value), "}")
        items = [_block("{", _lines(item), "}") for item in value]
        body = [line for item in items[:-1] for line in (*item[:-1], item[-1] + ",")] + items[-1]
        return _block(f"{field.name} [", body, "]")
    if field.is_repeated:
        return [f"{field.name}: [ {', '.join(_scalar(field, item) for item in value)} ]"]
    return [f"{field.name}: {_scalar(field, value)}"]


def _block(head: str, body: list[str], tail: str) -> list[str]:
    return [head, *(f"  {line}" for line in body), tail]


def _scalar(field: FieldDescriptor, value: Any) -> str:
    text = StringIO()
    text_format.PrintFieldValue(field, value, text, as_utf8=True)
    return text.getvalue()
