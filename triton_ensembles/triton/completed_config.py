"""The config of a model as Triton completes it, and as it passes it to a Python model."""

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from triton_ensembles.triton.backends import ENSEMBLE
from triton_ensembles.triton.model_config import ModelConfig, ModelInstanceGroup


def completed(config: ModelConfig, backend: str, instances: int) -> ModelConfig:
    """The config of a step as Triton completes it before a model sees it (core r24.10, model_config_utils.cc,
    NormalizeModelConfig), for the instances of the fused model."""
    whole = ModelConfig()
    whole.CopyFrom(config)
    if backend == ENSEMBLE:
        return whole
    whole.backend = backend
    if not config.HasField("version_policy"):
        whole.version_policy.latest.num_versions = 1
    if not config.default_model_filename and backend == "python":
        whole.default_model_filename = "model.py"
    for memory in (whole.optimization.input_pinned_memory, whole.optimization.output_pinned_memory):
        if not memory.ListFields():
            memory.enable = True
    batching = whole.dynamic_batching
    if config.HasField("dynamic_batching") and not batching.preferred_batch_size and config.max_batch_size:
        batching.preferred_batch_size.append(config.max_batch_size)
    # An engine takes its share of the cores by the number of its instances.
    del whole.instance_group[:]
    whole.instance_group.add(count=instances, kind=ModelInstanceGroup.KIND_CPU)
    return whole


def as_json(message: Message) -> dict[str, Any]:
    """A config as Triton passes it to a model (core r24.10, model_config_utils.cc, ModelConfigToJson): field names and
    enums by name, 64-bit integers as numbers, all defaults."""
    fields: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            inner = field.message_type.fields_by_name["value"].message_type
            fields[field.name] = {key: as_json(value[key]) if inner else value[key] for key in sorted(value)}
        elif field.is_repeated:
            fields[field.name] = [_value(field, item) for item in value]
        elif message.HasField(field.name) if field.has_presence else True:
            fields[field.name] = _value(field, value)
    return fields


def _value(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is not None:
        return as_json(value)
    return field.enum_type.values_by_number[value].name if field.enum_type is not None else value
