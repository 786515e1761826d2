"""Two configs, field by field: comments, the order of fields and what is a default anyway do not count."""

from collections.abc import Iterator
from typing import Any

from google.protobuf.json_format import MessageToDict

from triton_ensembles.checking.completed import completed_config
from triton_ensembles.checking.fused_plan import fused_plan, is_fused
from triton_ensembles.checking.repository import Model
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.comparing.content import Content
from triton_ensembles.runtime.backends.common.model_instance import LoadError
from triton_ensembles.triton.completed_config import completed
from triton_ensembles.triton.model_config import DataType, ModelConfig

_KEYS = ("name", "model_name")  # which tell the elements of a list apart


def config_of(model: Model) -> ModelConfig:
    """The config as Triton completes it, where that is known, or else as it is written."""
    try:
        return completed_config(model) or model.file.config
    except (LoadError, UnknownValueError):
        return model.file.config


def fields_of(content: Content, model: Model) -> dict[str, str]:
    """Every field that is set, by its path: ``input.TEXT.dims`` is ``[1, -1]``. The name of the model is left out, and
    steps are named as :meth:`Content.key` has them."""
    plan = fused_plan(model) if is_fused(model) else None
    written = _written(plan.ensemble if plan else config_of(model))
    if not model.is_ensemble:
        try:
            written["backend"] = model.backend.name
            written.pop("platform", None)
        except UnknownValueError:
            pass
    if plan:
        written["steps"] = {name: _as_written(config) for name, config in plan.models.items()}
    for step in written.get("ensemble_scheduling", {}).get("step", []):
        step["model_name"] = content.key(step.get("model_name", ""))
    return dict(_flat(written, ""))


def _written(config: ModelConfig) -> dict[str, Any]:
    written: dict[str, Any] = MessageToDict(config, preserving_proto_field_name=True)
    written.pop("name", None)
    if written.get("version_policy") == {"latest": {"num_versions": 1}}:
        del written["version_policy"]
    return written


def _as_written(config: ModelConfig) -> dict[str, Any]:
    """The fields of a step in a plan without those that the build completes in every step."""
    bare = ModelConfig(max_batch_size=config.max_batch_size)
    if config.HasField("dynamic_batching"):
        bare.dynamic_batching.SetInParent()
    instances = sum(group.count for group in config.instance_group)
    same = _written(completed(bare, config.backend, instances))
    kept = ("backend", "max_batch_size")
    return {name: value for name, value in _written(config).items() if name in kept or value != same.get(name)}


def _flat(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        if set(value) == {"string_value"}:
            yield path, str(value["string_value"])
            return
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(element, dict) for element in value):
        seen: set[str] = set()
        for number, element in enumerate(value):
            name = next((str(element[key]) for key in _KEYS if element.get(key)), "")
            label = str(number) if not name or name in seen else name
            seen.add(label)
            yield from _flat(element, f"{path}.{label}")
    elif isinstance(value, list):
        yield path, f"[{', '.join(map(str, value))}]"
    else:
        yield path, "{ }" if value == {} else str(value)


def notices(old: ModelConfig, new: ModelConfig) -> Iterator[str]:
    """Return what a client of the model notices: names, data types and shapes of tensors, batches, and how it
    answers."""
    for kind, before, after in (("input", old.input, new.input), ("output", old.output, new.output)):
        earlier, later = ({tensor.name: _tensor(tensor) for tensor in tensors} for tensors in (before, after))
        for name in sorted(earlier.keys() | later.keys()):
            if name not in later:
                yield f"{kind} {name} is gone"
            elif name not in earlier:
                yield f"{kind} {name} is new, {later[name]}"
            elif earlier[name] != later[name]:
                yield f"{kind} {name} is {later[name]} instead of {earlier[name]}"
    if old.max_batch_size != new.max_batch_size:
        axis = not old.max_batch_size or not new.max_batch_size
        effect = "requests get a batch axis" if axis and new.max_batch_size else "requests have no batch axis"
        limit = f"requests of up to {new.max_batch_size} rows instead of {old.max_batch_size}"
        yield f"max_batch_size is {new.max_batch_size} instead of {old.max_batch_size}: {effect if axis else limit}"
    if old.model_transaction_policy.decoupled != new.model_transaction_policy.decoupled:
        yield f"it is {'' if new.model_transaction_policy.decoupled else 'no longer '}decoupled"
    if old.HasField("sequence_batching") != new.HasField("sequence_batching"):
        yield f"requests are {'' if new.HasField('sequence_batching') else 'no longer '}parts of sequences"


def _tensor(tensor: Any) -> str:
    kind = DataType.Name(tensor.data_type)
    optional = " (optional)" if getattr(tensor, "optional", False) else ""
    return f"{kind.removeprefix('TYPE_')} [{', '.join(map(str, tensor.dims))}]{optional}"
