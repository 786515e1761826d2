"""Models that the examples of the rules use as steps: real ones, which the real server loads."""

from __future__ import annotations

from collections.abc import Mapping

from triton_ensembles.check.rule import Example

IDENTITY = """\
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse(output_tensors=[]) for _ in requests]
"""


def _step(config: str) -> Example:
    return Example(config, {"1/model.py": IDENTITY})


# Each is small and has one property that an ensemble may get wrong.
STEPS: dict[str, Example] = {
    # FP32 [4] -> FP32 [4], in batches of up to 8
    "scale": _step("""\
name: "scale"
backend: "python"
max_batch_size: 8
input [ { name: "X", data_type: TYPE_FP32, dims: [ 4 ] } ]
output [ { name: "Y", data_type: TYPE_FP32, dims: [ 4 ] } ]
instance_group [ { count: 1, kind: KIND_CPU } ]
"""),
    # two inputs, one of them optional, and two outputs
    "join": _step("""\
name: "join"
backend: "python"
max_batch_size: 8
input [
  { name: "A", data_type: TYPE_FP32, dims: [ 4 ] },
  { name: "B", data_type: TYPE_FP32, dims: [ 4 ] },
  { name: "HINT", data_type: TYPE_INT32, dims: [ 1 ], optional: true }
]
output [
  { name: "SUM", data_type: TYPE_FP32, dims: [ 4 ] },
  { name: "MEAN", data_type: TYPE_FP32, dims: [ 1 ] }
]
instance_group [ { count: 1, kind: KIND_CPU } ]
"""),
    # FP32 [2] -> FP32 [1]
    "pair-sum": _step("""\
name: "pair-sum"
backend: "python"
max_batch_size: 8
input [ { name: "PAIR", data_type: TYPE_FP32, dims: [ 2 ] } ]
output [ { name: "SUM", data_type: TYPE_FP32, dims: [ 1 ] } ]
instance_group [ { count: 1, kind: KIND_CPU } ]
"""),
    # text of any length -> INT64 [-1]
    "tokenize": _step("""\
name: "tokenize"
backend: "python"
max_batch_size: 8
input [ { name: "TEXT", data_type: TYPE_STRING, dims: [ 1 ] } ]
output [ { name: "IDS", data_type: TYPE_INT64, dims: [ -1 ] } ]
instance_group [ { count: 1, kind: KIND_CPU } ]
"""),
    # no batching: the batch axis of the ensemble is an axis of the tensor
    "whole": _step("""\
name: "whole"
backend: "python"
max_batch_size: 0
input [ { name: "X", data_type: TYPE_FP32, dims: [ -1, 4 ] } ]
output [ { name: "Y", data_type: TYPE_FP32, dims: [ -1, 4 ] } ]
instance_group [ { count: 1, kind: KIND_CPU } ]
"""),
    # decoupled: any number of responses for one request
    "stream": _step("""\
name: "stream"
backend: "python"
max_batch_size: 8
input [ { name: "X", data_type: TYPE_FP32, dims: [ 4 ] } ]
output [ { name: "Y", data_type: TYPE_FP32, dims: [ 4 ] } ]
instance_group [ { count: 1, kind: KIND_CPU } ]
model_transaction_policy { decoupled: true }
"""),
}

X = '{ name: "X", data_type: TYPE_FP32, dims: [ 4 ] }'
Y = '{ name: "Y", data_type: TYPE_FP32, dims: [ 4 ] }'


def python_model(
    *extra: str, inputs: str = X, outputs: str = Y, size: int = 8, backend: str = 'backend: "python"'
) -> str:
    """The config.pbtxt of a Python model, FP32 [4] -> FP32 [4] unless ``inputs`` and ``outputs`` say otherwise."""
    lines = [backend, f"max_batch_size: {size}", f"input [ {inputs} ]", f"output [ {outputs} ]", *extra]
    return "".join(f"{line}\n" for line in lines if line)


def step(model: str, inputs: Mapping[str, str], outputs: Mapping[str, str], version: str = "model_version: -1") -> str:
    """One step of an ensemble; the maps go from the model's tensors to the ensemble's."""
    lines = [f'model_name: "{model}"', version]
    for name, pairs in (("input_map", inputs), ("output_map", outputs)):
        lines += [f'{name} {{ key: "{key}", value: "{value}" }}' for key, value in pairs.items()]
    return "{\n" + "".join(f"      {line}\n" for line in lines if line) + "    }"


def ensemble(
    *steps: str,
    inputs: str = X,
    outputs: str = Y,
    size: int = 8,
    extra: str = "",
    platform: str = 'platform: "ensemble"',
) -> str:
    """The config.pbtxt of an ensemble of ``steps``."""
    lines = [platform, f"max_batch_size: {size}", f"input [ {inputs} ]", f"output [ {outputs} ]", extra]
    head = "".join(f"{line}\n" for line in lines if line)
    return f"{head}ensemble_scheduling {{\n  step [\n    {', '.join(steps)}\n  ]\n}}\n"


SCALE = step("scale", {"X": "X"}, {"Y": "Y"})
