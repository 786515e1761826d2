"""Fields that an ensemble needs or cannot have: core r24.10 model_config_utils.cc ValidateEnsembleSchedulingConfig."""

from collections.abc import Iterator
from contextlib import suppress

from triton_ensembles.checking.examples import SCALE, ensemble, step
from triton_ensembles.checking.field_rule import field_rule
from triton_ensembles.checking.rule import Finding, Model, rule
from triton_ensembles.checking.text.unknown import UnknownValueError

SOURCE = "core r24.10 model_config_utils.cc ValidateEnsembleSchedulingConfig"
GOOD = ensemble(SCALE)


def _forbidden(id: str, field: str, example: str, words: str, cure: str) -> None:
    @rule(f"An ensemble has no {field}", id=id, bad=ensemble(SCALE, extra=example), words=words)
    def find(model: Model) -> Iterator[Finding]:
        config = model.config
        is_set = config.HasField(field) if field == "optimization" else len(getattr(config, field))
        if config.HasField("ensemble_scheduling") and is_set:
            yield Finding(model.at(field), f"an ensemble cannot have {field}", cure=cure)


# fmt: off
_forbidden("ensemble-instance-group", "instance_group", "instance_group [ { count: 1, kind: KIND_CPU } ]",
           "instance group should not be specified for ensemble", "delete it; the steps have their own instance groups")
_forbidden("ensemble-optimization", "optimization", "optimization { input_pinned_memory { enable: true } }",
           "optimization should not be specified for ensemble", "delete it; the steps have their own optimizations")
_forbidden("ensemble-warmup", "model_warmup", 'model_warmup [ { name: "first", batch_size: 1 } ]',
           "model_warmup can not be specified for ensemble", "delete it, and warm the steps up")
# fmt: on


def _missing(field: str, bad: str, cure: str) -> None:
    @rule(
        f"Every step has {'a' if field == 'model_name' else 'an'} {field}",
        id=f"step-{field.replace('_', '-')}-missing",
        source="core r24.10 model_config_utils.cc BuildEnsembleGraph",
        bad=bad,
        words=f"must specify '{field}' in step … of ensemble '…'",
    )
    def find(model: Model) -> Iterator[Finding]:
        for number, item in enumerate(model.config.ensemble_scheduling.step):
            with suppress(UnknownValueError):
                if not getattr(item, field):
                    name = f"step {number}" + (f" ('{item.model_name}')" if item.model_name else "")
                    yield Finding(model.at("ensemble_scheduling", "step", number), f"{name} has no {field}", cure=cure)


_missing("model_name", ensemble(SCALE.replace('model_name: "scale"\n      ', "")), 'write model_name: "…"')
_missing("input_map", ensemble(step("scale", {}, {"Y": "Y"})), 'write input_map { key: "…" value: "…" }')
_missing("output_map", ensemble(step("scale", {"X": "X"}, {})), 'write output_map { key: "…" value: "…" }')


def _without(kind: str, bad: str, words: str) -> None:
    @rule(f"An ensemble has {kind}s", id=f"ensemble-without-{kind}s", bad=bad, words=words)
    def find(model: Model) -> Iterator[Finding]:
        if model.config.ensemble_scheduling.step and not getattr(model.config, kind):
            verb = "read" if kind == "input" else "write"
            cure = f'write {kind} [ {{ name: "…", data_type: TYPE_…, dims: [ … ] }} ] for what its steps {verb}'
            yield Finding(model.at(), f"this ensemble has no {kind}s", cure=cure)


_without("input", ensemble(SCALE, inputs=""), "… is not written: at least one of its depending tensors, …")
_without("output", ensemble(SCALE, outputs=""), "ensemble tensor '…' is unused in ensemble '…'")


# fmt: off
field_rule("ensemble-without-steps", "An ensemble has at least one step",
           at="ensemble_scheduling",
           when=lambda config: config.HasField("ensemble_scheduling") and not config.ensemble_scheduling.step,
           says="this ensemble has no steps", cure='write step [ {{ model_name: "…" … }} ]',
           bad=ensemble(), words="must specify 'step' for ensemble '…'")
