"""The inputs and outputs of a serialized DALI pipeline, and which inputs are encoded images.

DALI's Python API does not describe such a file, a message of dali.proto. What is needed of it is declared below.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from triton_ensembles.runtime.backends.common.model_instance import TRITON_TYPES, LoadError, Tensor

# message -> (field, number, type, repeated). Names are dali.proto's.
_STRING, _INT64 = "string", "int64"
_SCHEMA = {
    "Argument": [("name", 1, _STRING, False), ("ints", 4, _INT64, True)],
    "InputOutput": [("name", 1, _STRING, False), ("dtype", 5, _INT64, False), ("ndim", 6, _INT64, False)],
    "OpDef": [
        ("name", 1, _STRING, False),
        ("input", 2, "InputOutput", True),
        ("output", 3, "InputOutput", True),
        ("args", 4, "Argument", True),
        ("inst_name", 5, _STRING, False),
    ],
    "PipelineDef": [
        ("batch_size", 2, _INT64, False),
        ("op", 5, "OpDef", True),
        ("pipe_outputs", 7, "InputOutput", True),
    ],
}

# DALIDataType (dali/core/dali_data_type.h) in its order -> numpy's name.
_TYPES = (
    *("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float16", "float32", "float64", "bool"),
)

_IMAGE_DECODERS = ("decoders__Image", "ImageDecoder", "experimental__decoders__Image", "legacy__decoders__Image")


@dataclass(frozen=True)
class PipelineFile:
    """Declarations of a serialized pipeline. Dims begin with the batch axis, because a pipeline always takes batches;
    None where it does not declare ``ndim``."""

    serialized: bytes
    batch_size: int  # the most samples of one run
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    image_inputs: frozenset[str]  # those that an image decoder reads: each row is the content of an image file


def read_pipeline_file(path: Path) -> PipelineFile:
    """Read what ``Pipeline.serialize()`` wrote. Raises LoadError for another file."""
    serialized = path.read_bytes()
    pipeline = _message_class()()
    try:
        pipeline.ParseFromString(serialized)
    except DecodeError as error:
        raise LoadError(f"{path.name} is not a serialized DALI pipeline") from error
    if not pipeline.op or not pipeline.pipe_outputs:
        raise LoadError(f"{path.name} is not a serialized DALI pipeline")
    sources = [op for op in pipeline.op if op.name in ("ExternalSource", "_ExternalSource")]
    tensor_of = {output.name: op.inst_name for op in sources for output in op.output}
    decoders = [op for op in pipeline.op if op.name.startswith(_IMAGE_DECODERS)]
    return PipelineFile(
        serialized=serialized,
        batch_size=pipeline.batch_size,
        inputs=tuple(_source(op) for op in sources),
        outputs=tuple(_tensor(out.name, out.dtype, out.ndim) for out in pipeline.pipe_outputs),
        image_inputs=frozenset(tensor_of[op.input[0].name] for op in decoders if op.input[0].name in tensor_of),
    )


def _source(op: Any) -> Tensor:
    """The tensor of an fn.external_source, whose arguments ``dtype`` and ``ndim`` are optional."""
    arguments = {argument.name: argument.ints for argument in op.args}
    dtype, ndim = (next(iter(arguments.get(name, ())), -1) for name in ("dtype", "ndim"))
    return _tensor(op.inst_name, dtype, ndim)


def _tensor(name: str, dtype: int, ndim: int) -> Tensor:
    data_type = TRITON_TYPES[_TYPES[dtype]] if 0 <= dtype < len(_TYPES) else None
    return Tensor(name, data_type, (-1,) * (1 + ndim) if ndim >= 0 else None)


def _message_class() -> type[Any]:
    file = descriptor_pb2.FileDescriptorProto(name="pipeline_file.proto", package="dali", syntax="proto2")
    field_type = descriptor_pb2.FieldDescriptorProto
    for message, fields in _SCHEMA.items():
        entry = file.message_type.add(name=message)
        for name, number, kind, repeated in fields:
            field = entry.field.add(name=name, number=number)
            field.label = field_type.LABEL_REPEATED if repeated else field_type.LABEL_OPTIONAL
            if kind in _SCHEMA:
                field.type, field.type_name = field_type.TYPE_MESSAGE, f".dali.{kind}"
            else:
                field.type = field_type.TYPE_STRING if kind == _STRING else field_type.TYPE_INT64
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    parsed: type[Any] = message_factory.GetMessageClass(pool.FindMessageTypeByName("dali.PipelineDef"))
    return parsed
