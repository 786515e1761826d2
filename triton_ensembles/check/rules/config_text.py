"""Is config.pbtxt protobuf text of a ModelConfig at all? The parser finds these faults; each kind is a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from triton_ensembles.check.fault import Finding
from triton_ensembles.check.model import Model
from triton_ensembles.check.rule import Rule, Server, rule
from triton_ensembles.check.fault import Severity
from triton_ensembles.check.target import Target

SOURCE = "protobuf text_format.cc, which core r24.10 filesystem/api.cc ReadTextProto calls"
EFFECT = "Triton does not load the model: failed to read text proto from config.pbtxt"
WORDS = "failed to read text proto"

_HEAD = 'backend: "python"\n'
_IO = """\
input [ { name: "X", data_type: TYPE_FP32, dims: [ 4 ] } ]
output [ { name: "Y", data_type: TYPE_FP32, dims: [ 4 ] } ]
"""


def _of_kind(kind: str, effect: str = EFFECT) -> Callable[[Model, Target], Iterator[Finding]]:
    def find(model: Model, target: Target) -> Iterator[Finding]:
        for fault in model.file.faults:
            if fault.rule == kind:
                yield Finding(model.file.place(fault.offset), fault.message, effect, fault.cure)

    return find


def _text_rule(id: str, title: str, bad: str, good: str) -> Rule:
    return rule(id, title, source=SOURCE, bad=bad, good=good, words=WORDS)(_of_kind(id))


unknown_field = _text_rule(
    "config-unknown-field",
    "Every field is one of ModelConfig's",
    _HEAD + "max_batchsize: 8\n" + _IO,
    _HEAD + "max_batch_size: 8\n" + _IO,
)
unknown_enum = _text_rule(
    "config-unknown-enum",
    "Every enum value is one that the field knows",
    _HEAD + _IO + "instance_group [ { kind: GPU_KIND } ]\n",
    _HEAD + _IO + "instance_group [ { count: 1, kind: KIND_CPU } ]\n",
)

RULES = (unknown_field, unknown_enum)
