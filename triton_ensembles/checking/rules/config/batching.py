"""max_batch_size, dynamic_batching and the response cache: core r24.10 model_config_utils.cc ValidateModelConfig."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress

from triton_ensembles.checking.config_tensors import VARIABLE
from triton_ensembles.checking.ensemble_steps import steps
from triton_ensembles.checking.examples import io_tensor, python_model
from triton_ensembles.checking.field_rule import field_rule
from triton_ensembles.checking.rule import Finding, Model, Repository, Server, Severity, note, rule
from triton_ensembles.checking.text.unknown import UnknownValueError

SOURCE = "core r24.10 model_config_utils.cc ValidateModelConfig"


_OTHERS = ("priority_levels", "priority_queue_policy", "preserve_ordering")  # what it does besides


def _dynamic(inner: str) -> str:
    return python_model(f"dynamic_batching {{ {inner} }}")


@rule(
    "Preferred batch sizes are between 1 and max_batch_size",
    bad=_dynamic("preferred_batch_size: [ 4, 16 ]"),
    good=_dynamic("preferred_batch_size: [ 4, 8 ]"),
    words="dynamic batching preferred size must be <= max batch size",
)
def preferred_batch_size(model: Model) -> Iterator[Finding]:
    config = model.written  # this is validated before Triton completes the config
    oldest = config.sequence_batching.oldest
    lists = [
        (["dynamic_batching"], config.dynamic_batching, "dynamic batching preferred size"),
        (["sequence_batching", "oldest"], oldest, "sequence batching preferred batch size"),
    ]
    for path, batching, words in lists:
        for index, size in enumerate(batching.preferred_batch_size):
            if 0 < size <= config.max_batch_size or config.max_batch_size < 0:
                continue
            reason = "positive" if size <= 0 else "<= max batch size"
            message = f"the preferred batch size {size} is not between 1 and max_batch_size {config.max_batch_size}"
            effect = f"Triton refuses it: {words} must be {reason} for {model.name}"
            cure = f"write at most {config.max_batch_size}, or raise max_batch_size"
            yield Finding(model.at(*path, "preferred_batch_size", index), message, effect, cure)


@rule(
    "default_priority_level is between 1 and priority_levels",
    bad=_dynamic("priority_levels: 2"),
    good=_dynamic("priority_levels: 2, default_priority_level: 1"),
    words="default priority level must be in range [1, …]",
)
def default_priority_level(model: Model) -> Iterator[Finding]:
    batching = model.config.dynamic_batching
    levels, level = batching.priority_levels, batching.default_priority_level
    if levels and not 1 <= level <= levels:
        place = model.at("dynamic_batching", "default_priority_level" if level else "priority_levels")
        message = f"default_priority_level is {level or 'missing'}, and there are {levels} priority levels"
        yield Finding(place, message, cure=f"write default_priority_level: {levels}")


@note(
    "Requests of different lengths are batched together only where the input allows ragged batches",
    source="core r24.10 dynamic_batch_scheduler.cc enforce_equal_shape_tensors_; measured on 2.51.0",
    bad=python_model("dynamic_batching { }", inputs=io_tensor("X", dims="-1")),
    good=python_model("dynamic_batching { }", inputs=io_tensor("X", dims="-1", more="allow_ragged_batch: true")),
    server=Server.ACCEPTS,
)
def dynamic_batching_equal_shapes(model: Model) -> Iterator[Finding]:
    config = model.config
    if not config.HasField("dynamic_batching") or config.max_batch_size < 2 or "padded_batching" in config.parameters:
        return  # the last: the build allows it where rows are padded
    fed = model.repository.once("inputs of steps that vary", lambda: _fed(model.repository)).get(model.name, {})
    for index, tensor in enumerate(config.input):
        is_equal = VARIABLE not in tensor.dims or tensor.is_shape_tensor or not fed.get(tensor.name, True)
        if not is_equal and not tensor.allow_ragged_batch:
            message = f"requests that differ in the length of '{tensor.name}' are not put into one batch"
            effect = "dynamic_batching puts only requests of equal shapes together"
            cure = "send one length, padded; or write allow_ragged_batch: true if the model takes such batches"
            if model.is_python:
                cure = "write allow_ragged_batch: true: execute gets each request with its own tensor"
            yield Finding(model.at("input", index, "dims"), message, effect, cure)
            return


def _fed(repository: Repository) -> dict[str, dict[str, bool]]:
    """Return the inputs of each model that ensembles feed, and whether any of them may vary in length."""
    varies: dict[str, dict[str, bool]] = defaultdict(dict)
    for ensemble in repository.ensembles:
        with suppress(UnknownValueError):
            fixed = {tensor.name for tensor in ensemble.config.input if VARIABLE not in tensor.dims}
            for item in steps(ensemble):
                if (made := item.configured) is None:
                    continue
                # A model file makes the same shapes of the same shapes, as nearly all of them do.
                is_steady = not made.is_python and not any(VARIABLE in tensor.dims for tensor in made.config.input)
                outputs = (tensor for tensor in made.config.output if is_steady or VARIABLE not in tensor.dims)
                fixed |= {item.message.output_map.get(tensor.name, "") for tensor in outputs}
            for item in steps(ensemble):
                inputs = varies[item.message.model_name]
                for key, name in item.message.input_map.items():
                    inputs[key] = inputs.get(key, False) or name not in fixed
    return varies


# fmt: off
field_rule("max-batch-size-negative", "max_batch_size is 0 (the model does not batch) or the largest batch",
           at="max_batch_size", when=lambda config: config.max_batch_size < 0,
           says="max_batch_size is {item.max_batch_size}",
           cure="write max_batch_size: 0 for a model that does not batch",
           bad=python_model(size=-1), good=python_model(size=0),
           words="'max_batch_size' must be non-negative value")

field_rule("dynamic-batching-of-one", "dynamic_batching forms batches only with a max_batch_size above 0",
           at="dynamic_batching", when=lambda config: config.HasField("dynamic_batching") and not config.max_batch_size
           and not any(getattr(config.dynamic_batching, field) for field in _OTHERS)
           and not config.dynamic_batching.HasField("default_queue_policy"),
           says="max_batch_size is 0, so that dynamic_batching never puts two requests together",
           effect="the model loads, and answers one request at a time",
           cure="write the largest batch in max_batch_size, and leave the batch axis out of dims; or delete this",
           bad=python_model("dynamic_batching { }", size=0), good=python_model("dynamic_batching { }"),
           source="core r24.10 dynamic_batch_scheduler.cc", severity=Severity.NOTE)

field_rule("response-cache", "The response cache is not combined with sequence_batching or decoupled responses",
           at="response_cache.enable", when=lambda config: config.response_cache.enable and (
               "sequence_batching" if config.HasField("sequence_batching") else
               config.model_transaction_policy.decoupled and "decoupled responses"),
           says="the response cache cannot be combined with {wrong}", cure="delete response_cache",
           bad=python_model("model_transaction_policy { decoupled: true }", "response_cache { enable: true }"),
           good=python_model("model_transaction_policy { decoupled: false }", "response_cache { enable: true }"),
           words="Response Cache does not currently support model … with")
