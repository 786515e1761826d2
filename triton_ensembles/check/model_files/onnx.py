"""An ONNX model: its inputs and outputs, operators and the files with its weights. Source: onnx/onnx.proto3."""

from dataclasses import replace

from triton_ensembles.check.model_files.file import ModelFile, ModelTensor
from triton_ensembles.check.model_files.protobuf import MalformedError, Message, signed

# TensorProto.DataType -> Triton's type.
_TYPES = {
    1: "FP32", 2: "UINT8", 3: "INT8", 4: "UINT16", 5: "INT16", 6: "INT32", 7: "INT64", 8: "STRING", 9: "BOOL",
    10: "FP16", 11: "FP64", 12: "UINT32", 13: "UINT64", 16: "BF16",
}  # fmt: skip
_EXTERNAL = 1  # TensorProto.DataLocation
_IN_MEMORY = "*/_ORT_MEM_ADDR_/*"  # ONNX Runtime's own mark
_MOST_FILES = 10_000


def read_onnx(message: Message) -> ModelFile:
    """Raises the errors of :mod:`protobuf`."""
    graph: ModelFile | None = None
    ir_version, license_, opsets, own = 0, "", {}, set()
    for number, value in message.fields(message.size):
        if number == 1:
            ir_version = value
        elif number == 7:  # ModelProto.graph; a second one would be merged, and nobody writes it
            graph = _graph(message, value)
        elif number == 8:
            domain, version = _opset(message, value)
            opsets[domain] = version
        elif number == 14:  # metadata_props
            key, text = _pair(message, value)
            license_ = text if key == "license" else license_
        elif number == 25:  # a function, which is used as an operator
            own.add(_named(message, value, name=1, domain=10))
    if graph is None:
        raise MalformedError
    return replace(graph, ir_version=ir_version, license=license_, opsets=opsets, operators=graph.operators - own)


def _graph(message: Message, end: int) -> ModelFile:
    inputs: list[ModelTensor] = []
    outputs: list[ModelTensor] = []
    initializers: set[str] = set()
    external: dict[str, int] = {}
    operators: set[tuple[str, str]] = set()
    for number, value in message.fields(end):
        if number == 1 and message.budget.is_plenty:
            operators.add(_named(message, value, name=4, domain=7))
        elif number == 5:
            initializers.add(_initializer(message, value, external))
        elif number in (11, 12):
            (inputs if number == 11 else outputs).append(_value(message, value))
    needed = tuple(tensor for tensor in inputs if tensor.name not in initializers)
    return ModelFile(
        inputs=needed,
        outputs=tuple(outputs),
        external=external,
        names=frozenset(initializers),
        operators=frozenset(operators),
    )


def _named(message: Message, end: int, *, name: int, domain: int) -> tuple[str, str]:
    """The domain and the name of a NodeProto's operator or of a FunctionProto, which have these numbers."""
    found = {name: "", domain: ""}
    for number, value in message.fields(end):
        if number in found:
            found[number] = message.text(value)
    return _domain(found[domain]), found[name]


def _opset(message: Message, end: int) -> tuple[str, int]:
    """An OperatorSetIdProto."""
    domain, version = "", 0
    for number, value in message.fields(end):
        if number == 1:
            domain = message.text(value)
        elif number == 2:
            version = signed(value)
    return _domain(domain), version


def _domain(written: str) -> str:
    return "" if written == "ai.onnx" else written


def _initializer(message: Message, end: int, external: dict[str, int]) -> str:
    """The name of a TensorProto; the file that has its data is added to ``external``."""
    name, location, entries = "", 0, {}
    for number, value in message.fields(end):
        if number == 8:
            name = message.text(value)
        elif number == 13:
            key, text = _pair(message, value)
            entries[key] = text
        elif number == 14:
            location = value
    path = entries.get("location", "")
    if location == _EXTERNAL and path and path != _IN_MEMORY and len(external) < _MOST_FILES:
        start, length = (int(text) if text.isdecimal() else 0 for text in map(entries.get, ("offset", "length"), "00"))
        external[path] = max(external.get(path, 0), start + length if length else 0)
    return name


def _pair(message: Message, end: int) -> tuple[str, str]:
    found = {1: "", 2: ""}
    for number, value in message.fields(end):
        if number in found:
            found[number] = message.text(value)
    return found[1], found[2]


def _value(message: Message, end: int) -> ModelTensor:
    """A ValueInfoProto."""
    name, data_type, dims = "", "", None
    for number, value in message.fields(end):
        if number == 1:
            name = message.text(value)
        elif number == 2:
            for kind, inner in message.fields(value):  # TypeProto
                if kind == 1:  # tensor_type
                    data_type, dims = _tensor_type(message, inner)
    return ModelTensor(name, data_type, dims)


def _tensor_type(message: Message, end: int) -> tuple[str, tuple[int, ...] | None]:
    data_type, dims = "", None
    for number, value in message.fields(end):
        if number == 1:
            data_type = f"TYPE_{_TYPES[value]}" if value in _TYPES else ""
        elif number == 2:
            dims = tuple(_dimension(message, inner) for kind, inner in message.fields(value) if kind == 1)
    return data_type, dims


def _dimension(message: Message, end: int) -> int:
    size = -1
    for number, value in message.fields(end):
        if number == 1:
            size = signed(value)
    return size if size > 0 else -1  # some tools write 0 for any size
