"""A frozen TensorFlow graph: its nodes. Source: tensorflow/core/framework/graph.proto, node_def.proto, types.proto,
attr_value.proto, tensor_shape.proto."""

from triton_ensembles.checking.model_files.file import ModelFile, ModelTensor
from triton_ensembles.checking.model_files.protobuf import MalformedError, Message

TYPES = {
    1: "FP32", 2: "FP64", 3: "INT32", 4: "UINT8", 5: "INT16", 6: "INT8", 7: "STRING", 9: "INT64", 10: "BOOL",
    14: "BF16", 17: "UINT16", 19: "FP16", 22: "UINT32", 23: "UINT64",
}  # fmt: skip


def read_graphdef(message: Message) -> ModelFile:
    """The placeholders are its inputs, and ``names`` has every node. Raises the errors of :mod:`protobuf`."""
    nodes: set[str] = set()
    inputs: list[ModelTensor] = []
    for node in message.each(message.size, 1):
        name, op, tensor = _node(message, node)
        if not name:
            raise MalformedError
        nodes.add(name)
        if op == "Placeholder":
            inputs.append(tensor)
    if not nodes:
        raise MalformedError
    return ModelFile(inputs=tuple(inputs), names=frozenset(nodes))


def _node(message: Message, end: int) -> tuple[str, str, ModelTensor]:
    """Name, operation and, of a placeholder, the tensor."""
    name = op = data_type = ""
    dims: tuple[int, ...] | None = None
    for number, value in message.fields(end):
        if number == 1:
            name = message.text(value)
        elif number == 2:
            op = message.text(value)
        elif number == 5 and op == "Placeholder":  # one attribute; protobuf writes fields in their order
            key = ""
            for part, inner in message.fields(value):
                if part == 1:
                    key = message.text(inner)
                elif part == 2 and key == "dtype":
                    data_type = f"TYPE_{kind}" if (kind := TYPES.get(message.number(inner, 6))) else ""
                elif part == 2 and key == "shape":
                    dims = _shape(message, inner)
    return name, op, ModelTensor(name, data_type, dims)


def _shape(message: Message, end: int) -> tuple[int, ...] | None:
    """The shape in an AttrValue; None for one of any rank. Without dims it is a scalar or of any rank, by its age."""
    return next((sizes for shape in message.each(end, 7) if (sizes := read_shape(message, shape))), None)


def read_shape(message: Message, end: int) -> tuple[int, ...] | None:
    """Read a TensorShapeProto, None for one that says that its rank is unknown."""
    sizes: list[int] = []
    is_unknown = False
    for number, value in message.fields(end):
        if number == 2:
            sizes.append(max(message.number(value, 1), -1))
        is_unknown = is_unknown or number == 3
    return None if is_unknown else tuple(sizes)
