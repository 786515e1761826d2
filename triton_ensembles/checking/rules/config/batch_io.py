"""batch_input and batch_output: core r24.10 model_config_utils.cc ValidateBatchIO."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.field_rule import Path, field_rule, items
from triton_ensembles.checking.rule import Finding, Model, rule
from triton_ensembles.ground.spelling import listed, only_near, suggestion
from triton_ensembles.triton.model_config import DataType

SOURCE = "core r24.10 model_config_utils.cc ValidateBatchIO"
_INPUT = 'batch_input [ {{ kind: {}, target_name: "SIZES", data_type: {}, source_input: [ {} ] }} ]'
_OUTPUT = "batch_output [ {{ target_name: [ {} ], kind: BATCH_SCATTER_WITH_INPUT_SHAPE, source_input: [ {} ] }} ]"
_GOOD_INPUT = python_model(_INPUT.format("BATCH_ITEM_SHAPE", "TYPE_INT32", '"X"'))
GOOD = python_model(_OUTPUT.format('"Y"', '"X"'))


def _both(model: Model) -> Iterable[tuple[Path, Any]]:
    return chain(items("batch_input")(model), items("batch_output")(model))


@rule(
    "source_input names an input", bad=python_model(_OUTPUT.format('"Y"', '"x"')), words="unknown source input name '…'"
)
def batch_io_source_unknown(model: Model) -> Iterator[Finding]:
    return _unknown(model, _both(model), "source_input", "input")


@rule(
    "target_name of a batch_output names an output of the model",
    bad=python_model(_OUTPUT.format('"Z"', '"X"')),
    words="unknown target output name '…'",
)
def batch_output_target_unknown(model: Model) -> Iterator[Finding]:
    for path, item in items("batch_output")(model):
        if not item.target_name:
            effect = "tritonserver crashes when it loads the model"
            yield Finding(model.at(*path), "this batch_output has no target_name", effect, 'write target_name: "…"')
    yield from _unknown(model, items("batch_output")(model), "target_name", "output")


def _unknown(model: Model, messages: Iterable[tuple[Path, Any]], field: str, kind: str) -> Iterator[Finding]:
    known = [tensor.name for tensor in getattr(model.config, kind)]
    for path, item in () if model.is_completed else messages:
        for number, name in enumerate(getattr(item, field)):
            if name not in known:
                cure = suggestion(name, known) or f"the model's {kind}s are {listed(known)}"
                edits = model.file.renamed(*path, field, number, to=only_near(name, known))
                message = f"the model has no {kind} '{name}'"
                yield Finding(model.at(*path, field, number), message, cure=cure, edits=edits)


# fmt: off
field_rule("batch-input-data-type", "A batch_input is TYPE_INT32 or TYPE_FP32",
           at=("batch_input", "data_type"),
           when=lambda item: item.data_type not in (DataType.TYPE_INT32, DataType.TYPE_FP32),
           says="batch_input {path[1]} is neither TYPE_INT32 nor TYPE_FP32", cure="write data_type: TYPE_INT32",
           bad=python_model(_INPUT.format("BATCH_ITEM_SHAPE", "TYPE_INT64", '"X"')), good=_GOOD_INPUT,
           words="batch input data type must be TYPE_INT32 or TYPE_FP32")

field_rule("batch-io-source-count", "A batch_input or batch_output has one source_input",
           at=(_both, "source_input"),
           when=lambda item: len(item.source_input) != 1 and item.kind in item.Kind.values() and (
               f"{item.Kind.Name(item.kind)} takes one source_input, and {len(item.source_input)} are given"),
           says="{wrong}", cure='write source_input: [ "…" ] with the name of one input',
           bad=python_model(_INPUT.format("BATCH_ITEM_SHAPE", "TYPE_INT32", "")), good=_GOOD_INPUT,
           words="kind '…' expects 1 source input, got …")
