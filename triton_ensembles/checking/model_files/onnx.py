"""An ONNX model: its inputs and outputs, operators and the files with its weights. Source: onnx/onnx.proto3."""

from dataclasses import dataclass, field

from triton_ensembles.checking.model_files.file import ModelFile, ModelTensor
from triton_ensembles.checking.model_files.protobuf import MalformedError, Message, TooLargeError, signed

# TensorProto.DataType -> Triton's type.
TYPES = {
    1: "FP32", 2: "UINT8", 3: "INT8", 4: "UINT16", 5: "INT16", 6: "INT32", 7: "INT64", 8: "STRING", 9: "BOOL",
    10: "FP16", 11: "FP64", 12: "UINT32", 13: "UINT64", 16: "BF16",
}  # fmt: skip
_EXTERNAL = 1  # TensorProto.DataLocation
_IN_MEMORY = "*/_ORT_MEM_ADDR_/*"  # ONNX Runtime's own mark
_MOST_FILES = 10_000
_DEEPEST = 20  # graphs in graphs
# Operators with graphs of their own as attributes: ONNX's, and those of ONNX Runtime's domain com.microsoft.
_WITH_GRAPHS = frozenset(
    {"If", "Loop", "Scan", "SequenceMap", "BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"}
)
_OTHERS = {4: "a sequence", 5: "a map", 7: "opaque", 8: "a sparse tensor", 9: "optional"}  # fields of TypeProto
_LICENSE = ("license", "licence")  # exporters differ in spelling and case


def read_onnx(message: Message) -> ModelFile:
    """Raises the errors of :mod:`protobuf`."""
    graph: _Graph | None = None
    ir_version, license_, opsets, own = 0, "", {}, set()
    for number, value in message.fields(message.size):
        if number == 1:
            ir_version = value
        elif number == 7:  # ModelProto.graph; a second one would be merged, and nobody writes it
            graph = _Graph()
            graph.read(message, value)
        elif number == 8:
            domain, version = _opset(message, value)
            opsets[domain] = version
        elif number == 14:  # metadata_props
            key, text = message.texts(value, 1, 2)
            license_ = text if key.strip().lower() in _LICENSE and text.strip() else license_
        elif number == 25:  # a function, which is used as an operator
            name, domain = message.texts(value, 1, 10)
            own.add((_domain(domain), name))
    if graph is None:
        raise MalformedError
    return ModelFile(
        inputs=tuple(tensor for tensor in graph.inputs if tensor.name not in graph.initializers),
        outputs=tuple(graph.outputs),
        external=graph.external,
        names=frozenset(graph.initializers),
        ir_version=ir_version,
        license=license_,
        opsets=opsets,
        operators=frozenset(graph.operators - own),
    )


@dataclass
class _Graph:
    """The content of a GraphProto; ``external`` and ``operators`` are also those of the graphs within it."""

    inputs: list[ModelTensor] = field(default_factory=list)
    outputs: list[ModelTensor] = field(default_factory=list)
    initializers: set[str] = field(default_factory=set)
    external: dict[str, int] = field(default_factory=dict)
    operators: set[tuple[str, str]] = field(default_factory=set)

    def read(self, message: Message, end: int, depth: int = 0) -> None:
        if depth > _DEEPEST:
            raise TooLargeError
        for number, value in message.fields(end):
            if number == 1 and message.budget.is_plenty:
                self._read_node(message, value, depth)
            elif number == 5:
                self.initializers.add(_initializer(message, value, self.external))
            elif number in (11, 12):
                (self.inputs if number == 11 else self.outputs).append(_value(message, value))

    def _read_node(self, message: Message, end: int, depth: int) -> None:
        """A NodeProto; its operator comes before its attributes, in which the branches of ``If`` and ``Loop`` are."""
        name = domain = ""
        for number, value in message.fields(end):
            if number == 4:
                name = message.text(value)
            elif number == 7:
                domain = message.text(value)
            elif number == 5 and name in _WITH_GRAPHS:
                for graph in message.each(value, 6, 11):  # g, graphs
                    _Graph(external=self.external, operators=self.operators).read(message, graph, depth + 1)
        self.operators.add((_domain(domain), name))


def _opset(message: Message, end: int) -> tuple[str, int]:
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
            key, text = message.texts(value, 1, 2)
            entries[key] = text
        elif number == 14:
            location = value
    path = entries.get("location", "")
    if location == _EXTERNAL and path and path != _IN_MEMORY and len(external) < _MOST_FILES:
        start, length = (int(text) if text.isdecimal() else 0 for text in map(entries.get, ("offset", "length"), "00"))
        external[path] = max(external.get(path, 0), start + length if length else 0)
    return name


def _value(message: Message, end: int) -> ModelTensor:
    name, data_type, dims, kind = "", "", None, ""
    for number, value in message.fields(end):
        if number == 1:
            name = message.text(value)
        elif number == 2:
            for inner, stop in message.fields(value):
                if inner == 1:  # TypeProto.tensor_type
                    data_type, dims = _tensor_type(message, stop)
                kind = _OTHERS.get(inner, kind)
    return ModelTensor(name, data_type, dims, kind)


def _tensor_type(message: Message, end: int) -> tuple[str, tuple[int, ...] | None]:
    data_type, dims = "", None
    for number, value in message.fields(end):
        if number == 1:
            data_type = f"TYPE_{TYPES[value]}" if value in TYPES else ""
        elif number == 2:
            sizes = [message.number(inner, 1, -1) for inner in message.each(value, 1)]
            dims = tuple(size if size > 0 else -1 for size in sizes)  # some tools write 0 for any size
    return data_type, dims
