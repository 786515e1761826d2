"""Return whether config.pbtxt is the text form of a ModelConfig. The parser finds these faults; each kind is a rule."""

from collections.abc import Iterator

from triton_ensembles.archive.tree import LARGEST_CONFIG
from triton_ensembles.checking.examples import IDENTITY, X, io_tensor, parameter, python_model
from triton_ensembles.checking.rule import Example, Finding, Model, Server, Severity, rule, warning

SOURCE = "protobuf text_format.cc and io/tokenizer.cc, called by core r24.10 filesystem/api.cc ReadTextProto"
WORDS = "failed to read text proto from …/config.pbtxt"

GOOD = python_model()


def _text_faults(model: Model, id: str, effect: str = "") -> Iterator[Finding]:
    for fault in model.file.faults:
        if fault.rule == id:
            yield Finding(model.file.place(fault.offset), fault.message, effect, fault.cure, edits=fault.edits)


def _refused(id: str, title: str, bad: str, good: str = GOOD) -> None:
    @rule(title, id=id, bad=bad, good=good, words=WORDS)
    def find(model: Model) -> Iterator[Finding]:
        return _text_faults(model, id)


_refused("config-not-text", "config.pbtxt is a text file", GOOD + "\0")
_refused(
    "config-template", "A template is filled in", GOOD.replace("max_batch_size: 8", "max_batch_size: ${max_batch_size}")
)
_refused(
    "config-syntax",
    "config.pbtxt follows the grammar of protobuf's text format",
    python_model(inputs=X + ","),
    python_model(inputs=f"{X}, {io_tensor('Z')}"),
)
_refused(
    "config-unclosed", "Every bracket is closed", GOOD.replace("dims: [ 4 ] } ]\noutput", "dims: [ 4 ] ]\noutput", 1)
)
_refused(
    "config-bad-string",
    "A string is closed on its line, and its backslashes belong to escape sequences",
    GOOD + 'default_model_filename: "model.py\n',
    GOOD + 'default_model_filename: "model\\x2epy"\n',
)
_refused(
    "config-wrong-type",
    "Every value is of its field's type",
    GOOD.replace("max_batch_size: 8", 'max_batch_size: "8"'),
    GOOD.replace("max_batch_size: 8", "max_batch_size: 0x8"),
)
_refused("config-unknown-field", "Every field exists in its message", GOOD.replace("max_batch_size", "max_batchsize"))
_refused(
    "config-unknown-enum",
    "Every enum value exists in its field's type",
    python_model("instance_group [ { count: 1, kind: CPU } ]"),
    python_model("instance_group [ { count: 1, kind: KIND_CPU } ]"),
)
_refused(
    "config-field-twice",
    "A field that is not a list is given only once",
    GOOD + "max_batch_size: 16\n",
    GOOD + f"input [ {io_tensor('Z')} ]\n",
)
_refused(
    "config-oneof-twice",
    "Only one of several fields that exclude each other is given",
    python_model("version_policy { latest { num_versions: 1 } all { } }"),
    python_model("version_policy { all { } }"),
)


@warning(
    "A map has each key only once",
    source=SOURCE
    + "; core's check 'is mapped to multiple ensemble tensors' never sees it, as only the last entry is left",
    bad=python_model(parameter("mode", "fast"), parameter("mode", "slow")),
    good=python_model(parameter("mode", "fast"), parameter("color", "gray")),
)
def config_map_key_twice(model: Model) -> Iterator[Finding]:
    return _text_faults(model, "config-map-key-twice", "Triton silently takes the last one")


@warning(
    "A template is filled in, also in strings",
    bad=python_model(parameter("tokenizer_dir", "${tokenizer_dir}")),
    good=python_model(parameter("tokenizer_dir", "/models/tokenizer")),
)
def config_template_in_string(model: Model) -> Iterator[Finding]:
    return _text_faults(model, "config-template-in-string", "Triton takes the placeholder for the value itself")


@warning(
    "config.pbtxt is UTF-8",
    source="measured on tritonserver 2.51.0: it loads the model and logs 'String field … contains invalid UTF-8 data'",
    bad=GOOD + "# caf\udce9\n",
    good=GOOD + "# café\n",
)
def config_not_utf8(model: Model) -> Iterator[Finding]:
    effect = "Triton loads it, but a string that is not UTF-8 breaks clients that request the model's configuration"
    yield from _text_faults(model, "config-not-utf8", effect)
    offset = model.file.text.find("\ufffd")
    entry = model.get("config.pbtxt")
    if offset < 0 or entry is None or entry.data is None or model.file.text.count("\0"):
        return
    try:
        entry.data.decode("utf-8")
    except UnicodeDecodeError:
        yield Finding(model.file.place(offset), "this is not UTF-8", effect, "save the file as UTF-8")


@rule(
    "config.pbtxt is a readable file of at most 1 MiB",
    source="core r24.10 filesystem/implementations/local.h ReadTextFile; measured on tritonserver 2.51.0",
    bad=Example(None, {"config.pbtxt": None, "1/model.py": IDENTITY}),
    server=Server.DIES,
    lower=Severity.WARNING,
)
def config_unreadable(model: Model) -> Iterator[Finding]:
    """Yield a warning for one that is larger than any: not to read it keeps the checker's running time short."""
    entry = model.get("config.pbtxt")
    if entry and (entry.is_folder or entry.data is None):
        message, effect = "config.pbtxt is not a readable file", "Triton fails to open it"
        cure, severity = "put the file itself there", None
        if entry.is_folder:
            message, effect = "config.pbtxt is a folder", "tritonserver aborts"
        elif entry.size > LARGEST_CONFIG:
            message, effect = f"config.pbtxt is {entry.size} bytes long", "Triton reads it, but this checker does not"
            cure, severity = "put labels and weights into separate files", Severity.WARNING
        effect = f"{effect}; nothing of this model is checked"
        yield Finding(model.place("config.pbtxt"), message, effect, cure, severity)
