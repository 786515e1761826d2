"""A TensorFlow SavedModel: the tensors of its signature ``serving_default``. Source: tensorflow/core/protobuf
saved_model.proto, meta_graph.proto; tensorflow/core/framework tensor_shape.proto."""

from triton_ensembles.checking.model_files.file import ModelFile, ModelTensor
from triton_ensembles.checking.model_files.graphdef import TYPES, read_shape
from triton_ensembles.checking.model_files.protobuf import MalformedError, Message

FILE = "saved_model.pb"  # in its folder
INDEX = "variables/variables.index"
DATA = "variables.data-"  # how the names of the other files in that folder begin
_TAG, _SIGNATURE = "serve", "serving_default"
_VARIABLES = ("VarHandleOp", "VariableV2", "Variable")


def read_saved_model(message: Message) -> ModelFile:
    """Read the graph tagged ``serve``; a file with variables is ``external``. Raises the errors of :mod:`protobuf`."""
    graphs = [_graph(message, end) for end in message.each(message.size, 2)]
    if not graphs:
        raise MalformedError
    return next((file for tags, file in graphs if _TAG in tags), ModelFile())


def _graph(message: Message, end: int) -> tuple[set[str], ModelFile]:
    """Return the tags of a MetaGraphDef, and what is known of it."""
    tags: set[str] = set()
    operators: set[str] = set()
    sides: list[tuple[ModelTensor, ...]] = []
    for number, value in message.fields(end):
        if number == 1:  # MetaInfoDef
            tags.update(message.text(tag) for tag in message.each(value, 4))
        elif number == 2 and message.budget.is_plenty:  # GraphDef.node, NodeDef.op
            operators.update(text for node in message.each(value, 1) for text in message.texts(node, 2))
        elif number == 5:  # an entry of signature_def
            name = ""
            for part, inner in message.fields(value):
                name = message.text(inner) if part == 1 else name
                if part == 2 and name == _SIGNATURE:
                    sides = _signature(message, inner)
    external = {INDEX: 0} if operators.intersection(_VARIABLES) else {}
    inputs, outputs = sides or (None, None)
    return tags, ModelFile(inputs=inputs, outputs=outputs, external=external)


def _signature(message: Message, end: int) -> list[tuple[ModelTensor, ...]]:
    """Return the inputs and the outputs of a SignatureDef."""
    tensors: dict[int, list[ModelTensor]] = {1: [], 2: []}
    for number, value in message.fields(end):
        if number in tensors:
            name = ""
            for part, inner in message.fields(value):
                name = message.text(inner) if part == 1 else name
                if part == 2:
                    tensors[number].append(_tensor(message, inner, name))
    return [tuple(side) for side in tensors.values()]


def _tensor(message: Message, end: int, name: str) -> ModelTensor:
    """Return the tensor of a TensorInfo; its rank is unknown where its shape says so, or is left out."""
    data_type, dims = "", None
    for number, value in message.fields(end):
        if number == 2:
            data_type = f"TYPE_{TYPES[value]}" if value in TYPES else ""
        elif number == 3:
            dims = read_shape(message, value)
    return ModelTensor(name, data_type, dims)
