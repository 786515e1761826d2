"""A frozen TensorFlow graph: its nodes. Source: tensorflow/core/framework/graph.proto, node_def.proto, types.proto."""

from triton_ensembles.check.model_files.file import ModelFile, ModelTensor
from triton_ensembles.check.model_files.protobuf import MalformedError, Message

_TYPES = {
    1: "FP32", 2: "FP64", 3: "INT32", 4: "UINT8", 5: "INT16", 6: "INT8", 7: "STRING", 9: "INT64", 10: "BOOL",
    14: "BF16", 17: "UINT16", 19: "FP16", 22: "UINT32", 23: "UINT64",
}  # fmt: skip


def read_graphdef(message: Message) -> ModelFile:
    """The placeholders are its inputs, and ``names`` has every node. Raises the errors of :mod:`protobuf`."""
    nodes: set[str] = set()
    inputs: list[ModelTensor] = []
    for number, value in message.fields(message.size):
        if number == 1:
            name, op, data_type = _node(message, value)
            if not name:
                raise MalformedError
            nodes.add(name)
            if op == "Placeholder":
                inputs.append(ModelTensor(name, data_type))
    if not nodes:
        raise MalformedError
    return ModelFile(inputs=tuple(inputs), names=frozenset(nodes))


def _node(message: Message, end: int) -> tuple[str, str, str]:
    """Name, operation and, of a placeholder, the type."""
    name = op = data_type = ""
    for number, value in message.fields(end):
        if number == 1:
            name = message.text(value)
        elif number == 2:
            op = message.text(value)
        elif number == 5 and op == "Placeholder":  # one attribute; protobuf writes fields in their order
            data_type = _type(message, value) or data_type
    return name, op, data_type


def _type(message: Message, end: int) -> str:
    key, found = "", ""
    for number, value in message.fields(end):
        if number == 1:
            key = message.text(value)
        elif number == 2:
            for kind, inner in message.fields(value):  # AttrValue
                if kind == 6:
                    found = f"TYPE_{_TYPES[inner]}" if inner in _TYPES else ""
    return found if key == "dtype" else ""
