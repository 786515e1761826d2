"""The messages of Triton's model_config.proto without the client that ships them: protobuf is all that they need.

``model_config.descriptor`` is NVIDIA's model_config.proto, compiled, byte for byte as in tritonclient (its license:
model_config.LICENSE). It has a descriptor pool of its own, so that any version of tritonclient can be imported too.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

__all__ = ["DESCRIPTOR", "DataType", "ModelConfig", "ModelInstanceGroup"]

DESCRIPTOR = Path(__file__).with_name("model_config.descriptor")

if TYPE_CHECKING:
    from tritonclient.grpc.model_config_pb2 import DataType, ModelConfig, ModelInstanceGroup
else:
    _pool = descriptor_pool.DescriptorPool()
    _pool.Add(descriptor_pb2.FileDescriptorProto.FromString(DESCRIPTOR.read_bytes()))

    def _message(name: str) -> Any:
        return message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"inference.{name}"))

    ModelConfig, ModelInstanceGroup = _message("ModelConfig"), _message("ModelInstanceGroup")
    DataType = EnumTypeWrapper(_pool.FindEnumTypeByName("inference.DataType"))
