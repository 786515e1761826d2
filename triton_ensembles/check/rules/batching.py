"""max_batch_size and dynamic_batching: core r24.10 model_config_utils.cc ValidateModelConfig."""

from __future__ import annotations

from collections.abc import Iterator

from triton_ensembles.check.fault import Finding
from triton_ensembles.check.model import Model
from triton_ensembles.check.rule import rule
from triton_ensembles.check.target import Target

SOURCE = "core r24.10 model_config_utils.cc ValidateModelConfig"
_MODEL = """\
backend: "python"
max_batch_size: {size}
input [ {{ name: "X", data_type: TYPE_FP32, dims: [ 4 ] }} ]
output [ {{ name: "Y", data_type: TYPE_FP32, dims: [ 4 ] }} ]
"""


@rule(
    "max-batch-size-negative",
    "max_batch_size is 0 (the model does not batch) or the largest batch",
    source=SOURCE,
    bad=_MODEL.format(size=-1),
    good=_MODEL.format(size=0),
    words="'max_batch_size' must be non-negative value",
)
def max_batch_size_negative(model: Model, target: Target) -> Iterator[Finding]:
    if model.config.max_batch_size < 0:
        yield Finding(
            model.at("max_batch_size"),
            f"max_batch_size is {model.config.max_batch_size}",
            f"Triton refuses it: 'max_batch_size' must be non-negative value for {model.name}",
            "write max_batch_size: 0 for a model that does not batch",
        )


RULES = (max_batch_size_negative,)
