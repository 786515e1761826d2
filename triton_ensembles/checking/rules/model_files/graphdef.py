"""The nodes of a frozen TensorFlow graph, compared with the inputs and outputs of config.pbtxt."""

from collections.abc import Iterator
from dataclasses import replace

from triton_ensembles.checking.examples import GRAPH_IDENTITY, X, io_tensor, python_model
from triton_ensembles.checking.loaded_files import files_read
from triton_ensembles.checking.model_files.file import ModelFile
from triton_ensembles.checking.rule import Example, Finding, Model, Server, rule, warning
from triton_ensembles.checking.rules.model_files.tensors import other_dims, other_types
from triton_ensembles.ground.spelling import listed, nearest, suggestion

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
    effect = "every request fails, or the model is not loaded: TensorFlow expects another type"
    yield from (replace(finding, effect=effect) for finding in other_types(model, _files(model)))
    for path, file in _files(model):
        known = [tensor.name for tensor in file.inputs or ()]
        for number, tensor in enumerate(model.config.input):
            place, name = model.at("input", number, "name"), tensor.name
            if name and name not in known:
                effect = f"Triton does not load the model: unexpected inference input '{name}'"
                cure = suggestion(name, known, 'write name: "{}"') or "write the names of its placeholders"
                yield Finding(place, f"{path} has no placeholder '{name}'; it has {listed(known)}", effect, cure)
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
    effect = "this project's own server does not load it, and TensorFlow may refuse every request"
    files = ((path, _of_any_batch(file) if model.config.max_batch_size > 0 else file) for path, file in _files(model))
    yield from (replace(finding, effect=effect) for finding in other_dims(model, files))


def _of_any_batch(file: ModelFile) -> ModelFile:
    """Return the file with a batch of any size: the first axis is that of the batch also where it is fixed."""
    inputs = [replace(each, dims=(-1, *each.dims[1:])) if each.dims else each for each in file.inputs or ()]
    return replace(file, inputs=tuple(inputs))


def _files(model: Model) -> Iterator[tuple[str, ModelFile]]:
    if model.backend.platform == "tensorflow_graphdef":
        yield from ((path, file) for path, file in files_read(model, "tensorflow") if file.inputs is not None)
