"""Is config.pbtxt protobuf text of a ModelConfig at all? The parser finds these faults; each kind is a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from triton_ensembles.check.examples import IDENTITY, X, python_model
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import Example, Rule, Server, rule
from triton_ensembles.triton.destination import Destination

SOURCE = "protobuf text_format.cc and io/tokenizer.cc, called by core r24.10 filesystem/api.cc ReadTextProto"
EFFECT = "Triton does not load the model: failed to read text proto from config.pbtxt"
WORDS = "failed to read text proto"

_GOOD = python_model()
_PARAMETER = 'parameters {{ key: "{}", value {{ string_value: "{}" }} }}'


def _of_kind(kind: str, effect: str) -> Callable[[Model, Destination], Iterator[Finding]]:
    def find(model: Model, target: Destination) -> Iterator[Finding]:
        for fault in model.file.faults:
            if fault.rule == kind:
                yield Finding(model.file.place(fault.offset), fault.message, effect, fault.cure)

    return find


def _refused(id: str, title: str, bad: str, good: str = _GOOD) -> Rule:
    return rule(id, title, source=SOURCE, bad=bad, good=good, words=WORDS)(_of_kind(id, EFFECT))


not_text = _refused(
    "config-not-text",
    "config.pbtxt is a text file",
    _GOOD + "\0",
)
syntax = _refused(
    "config-syntax",
    "config.pbtxt follows the grammar of protobuf's text format",
    python_model(inputs=X + ","),
    python_model(inputs=X + ', { name: "Z", data_type: TYPE_FP32, dims: [ 4 ] }'),
)
unclosed = _refused(
    "config-unclosed",
    "Every bracket is closed",
    _GOOD.replace("dims: [ 4 ] } ]\noutput", "dims: [ 4 ] ]\noutput", 1),
)
bad_string = _refused(
    "config-bad-string",
    "A string is closed on its line, and its backslashes are those of escape sequences",
    _GOOD + 'default_model_filename: "model.py\n',
    _GOOD + 'default_model_filename: "model\\x2epy"\n',
)
wrong_type = _refused(
    "config-wrong-type",
    "Every value is of its field's type",
    _GOOD.replace("max_batch_size: 8", 'max_batch_size: "8"'),
    _GOOD.replace("max_batch_size: 8", "max_batch_size: 0x8"),
)
unknown_field = _refused(
    "config-unknown-field",
    "Every field is one that its message has",
    _GOOD.replace("max_batch_size", "max_batchsize"),
)
unknown_enum = _refused(
    "config-unknown-enum",
    "Every enum value is one that its field knows",
    python_model("instance_group [ { count: 1, kind: CPU } ]"),
    python_model("instance_group [ { count: 1, kind: KIND_CPU } ]"),
)
field_twice = _refused(
    "config-field-twice",
    "A field that is not a list stands only once",
    _GOOD + "max_batch_size: 16\n",
    _GOOD + f"input [ {X.replace('X', 'Z')} ]\n",
)
oneof_twice = _refused(
    "config-oneof-twice",
    "Of fields that exclude each other only one is given",
    python_model("version_policy { latest { num_versions: 1 } all { } }"),
    python_model("version_policy { all { } }"),
)
map_key_twice = rule(
    "config-map-key-twice",
    "A map has each key only once",
    source=SOURCE
    + "; core's check 'is mapped to multiple ensemble tensors' never sees it, as only the last entry is left",
    severity=Severity.WARNING,
    server=Server.ACCEPTS,
    bad=python_model(_PARAMETER.format("mode", "fast"), _PARAMETER.format("mode", "slow")),
    good=python_model(_PARAMETER.format("mode", "fast"), _PARAMETER.format("colour", "grey")),
)(_of_kind("config-map-key-twice", "Triton takes the last one and says nothing"))


@rule(
    "config-not-utf8",
    "config.pbtxt is UTF-8",
    source="measured on tritonserver 2.51.0: it loads the model and logs 'String field … contains invalid UTF-8 data'",
    severity=Severity.WARNING,
    server=Server.ACCEPTS,
    bad=_GOOD + "# caf\udce9\n",
    good=_GOOD + "# café\n",
)
def not_utf8(model: Model, target: Destination) -> Iterator[Finding]:
    effect = "Triton loads it, but a string that is not UTF-8 breaks whoever asks for the model's configuration"
    yield from _of_kind("config-not-utf8", effect)(model, target)
    offset = model.file.text.find("\ufffd")
    entry = model.get("config.pbtxt")
    if offset < 0 or entry is None or entry.data is None or model.file.text.count("\0"):
        return
    try:
        entry.data.decode("utf-8")
    except UnicodeDecodeError:
        yield Finding(model.file.place(offset), "this is not UTF-8", effect, "save the file as UTF-8")


@rule(
    "config-too-large",
    "config.pbtxt is at most 256 KiB",
    source="a limit of this checker, so that it ends in time",
    server=Server.UNTESTED,
    bad=None,
    good=None,
)
def too_large(model: Model, target: Destination) -> Iterator[Finding]:
    entry = model.get("config.pbtxt")
    if entry is not None and not entry.is_folder and entry.data is None:
        yield Finding(
            model.place("config.pbtxt"),
            f"config.pbtxt is {entry.size} bytes long" if entry.size else "config.pbtxt is no file that can be read",
            "nothing of this model is checked",
            "put labels and weights into files of their own",
        )


@rule(
    "config-is-folder",
    "config.pbtxt is a file",
    source="core r24.10 filesystem/implementations/local.h ReadTextFile; measured on tritonserver 2.51.0",
    server=Server.DIES,
    bad=Example(None, {"config.pbtxt": None, "1/model.py": IDENTITY}),
    good=_GOOD,
)
def is_folder(model: Model, target: Destination) -> Iterator[Finding]:
    entry = model.get("config.pbtxt")
    if entry is not None and entry.is_folder:
        yield Finding(
            model.place("config.pbtxt"), "config.pbtxt is a folder", "tritonserver aborts", "put the file in its place"
        )


RULES = (
    is_folder,
    too_large,
    not_text,
    not_utf8,
    syntax,
    unclosed,
    bad_string,
    wrong_type,
    unknown_field,
    unknown_enum,
    field_twice,
    oneof_twice,
    map_key_twice,
)
