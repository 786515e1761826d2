"""The nodes of a frozen TensorFlow graph, compared with the inputs and outputs of config.pbtxt."""

from collections.abc import Iterator

from triton_ensembles.checking.config_tensors import dims_of, same_shape
from triton_ensembles.checking.examples import GRAPH_IDENTITY, X, io_tensor, python_model
from triton_ensembles.checking.loaded_files import files_read
from triton_ensembles.checking.model_files.file import ModelFile
from triton_ensembles.checking.rule import Example, Finding, Model, Server, rule, warning
from triton_ensembles.ground.spelling import listed, nearest, suggestion
from triton_ensembles.triton.model_config import DataType

SOURCE = "tensorflow_backend r24.10 tensorflow.cc graphdef::ValidateTRITONTFModel: any Placeholder may be an input"
SERVER, GOOD_LOADS = Server.UNTESTED, False
# The same with the shape [2, 4] of its placeholder.
_SHAPED = GRAPH_IDENTITY.replace("\n\x1d\n\x01X", "\n2\n\x01X").replace(
    "\n\x19\n\x01Y", "*\x13\n\x05shape\x12\n:\x08\x12\x02\x08\x02\x12\x02\x08\x04\n\x19\n\x01Y"
)


def _example(inputs: str, graph: str = GRAPH_IDENTITY) -> Example:
    config = python_model(inputs=inputs, backend='platform: "tensorflow_graphdef"')
    return Example(config, {"1/model.graphdef": graph})


@rule(
    "A frozen TensorFlow graph has the inputs and outputs of the config", bad=_example(io_tensor("x")), good=_example(X)
)
def graphdef_tensor_name(model: Model) -> Iterator[Finding]:
    for path, file in _files(model):
        types = {tensor.name: tensor.data_type for tensor in file.inputs or ()}
        for number, tensor in enumerate(model.config.input):
            place, name = model.at("input", number, "name"), tensor.name
            if name and name not in types:
                effect = f"Triton does not load the model: unexpected inference input '{name}'"
                cure = suggestion(name, types, 'write name: "{}"') or "write the names of its placeholders"
                yield Finding(place, f"{path} has no placeholder '{name}'; it has {listed(types)}", effect, cure)
            elif name and types[name] not in ("", _type(tensor.data_type)) and _type(tensor.data_type):
                message = f"input '{name}' is {_type(tensor.data_type)} here and {types[name]} in {path}"
                effect = f"every request fails, or the model is not loaded: TensorFlow expects {types[name]}"
                cure = f"write data_type: {types[name]}"
                yield Finding(model.at("input", number, "data_type"), message, effect, cure)
        for number, tensor in enumerate(model.config.output):
            node = tensor.name.partition(":")[0]
            if node and node not in file.names:
                meant = nearest(node, file.names) if len(file.names) < 20_000 else None
                message = f"{path} has no node '{node}' for this output"
                effect = f"Triton does not load the model: unexpected inference output '{tensor.name}'"
                cure = f'write name: "{meant}"' if meant else "write the name of a node of the graph"
                yield Finding(model.at("output", number, "name"), message, effect, cure)


@warning(
    "The inputs of a frozen TensorFlow graph have the shapes of its placeholders",
    source="measured with TensorFlow 2.21: this project's own server compares them",
    bad=_example(io_tensor("X", dims="5"), _SHAPED),
    good=_example(X, _SHAPED),
)
def graphdef_tensor_dims(model: Model) -> Iterator[Finding]:
    batching = model.config.max_batch_size > 0
    for path, file in _files(model):
        placeholders = {tensor.name: tensor.dims for tensor in file.inputs or ()}
        for number, tensor in enumerate(model.config.input):
            shape = placeholders.get(tensor.name)
            dims = dims_of(tensor)
            if shape is None or dims is None or tensor.allow_ragged_batch:
                continue
            full = [-1, *dims] if batching else dims
            expected = (-1, *shape[1:]) if batching else shape  # the first axis is the batch, also where it is fixed
            if not same_shape(full, expected):
                axis = " with the batch axis" if batching else ""
                message = f"input '{tensor.name}' is {full}{axis} here and {list(shape)} in {path}"
                effect = "this project's own server does not load it, and TensorFlow may refuse every request"
                cure = f"write dims: [ {', '.join(map(str, shape[1 if batching else 0 :]))} ]"
                yield Finding(model.at("input", number, "dims"), message, effect, cure)


def _files(model: Model) -> Iterator[tuple[str, ModelFile]]:
    if model.backend.platform == "tensorflow_graphdef":
        yield from ((path, file) for path, file in files_read(model, "tensorflow") if file.inputs is not None)


def _type(number: int) -> str:
    name = DataType.Name(number) if number in DataType.values() else ""
    return "" if name == "TYPE_INVALID" else name
