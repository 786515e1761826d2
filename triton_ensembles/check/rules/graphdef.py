"""The nodes of a frozen TensorFlow graph, compared with the inputs and outputs of config.pbtxt."""

from collections.abc import Iterator

from triton_ensembles.check.backend import backend_of
from triton_ensembles.check.examples import GRAPH_IDENTITY, X, io_tensor, python_model
from triton_ensembles.check.fault import Finding
from triton_ensembles.check.loaded_files import file_of, loaded_files
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import Example, Server, rule
from triton_ensembles.spelling import listed, nearest
from triton_ensembles.triton.model_config import DataType

SOURCE = "tensorflow_backend r24.10 tensorflow.cc graphdef::ValidateTRITONTFModel: any Placeholder may be an input"


def _example(inputs: str) -> Example:
    config = python_model(inputs=inputs, backend='platform: "tensorflow_graphdef"')
    return Example(config, {"1/model.graphdef": GRAPH_IDENTITY})


@rule(
    "A frozen TensorFlow graph has the inputs and outputs of the config",
    bad=_example(io_tensor("x")),
    good=_example(X),
    server=Server.UNTESTED,
    good_loads=False,
)
def graphdef_tensor_name(model: Model) -> Iterator[Finding]:
    if backend_of(model).platform != "tensorflow_graphdef":
        return
    for path, _ in loaded_files(model):
        file = file_of(model, path)
        if file is None or file.broken or file.inputs is None:
            continue
        types = {tensor.name: tensor.data_type for tensor in file.inputs}
        for number, tensor in enumerate(model.config.input):
            place, name = model.at("input", number, "name"), tensor.name
            if name and name not in types:
                meant = nearest(name, types)
                yield Finding(
                    place,
                    f"{path} has no placeholder '{name}'; it has {listed(types)}",
                    f"Triton does not load the model: unexpected inference input '{name}'",
                    f'write name: "{meant}"' if meant else "write the names of its placeholders",
                )
            elif name and types[name] not in ("", _type(tensor.data_type)) and _type(tensor.data_type):
                yield Finding(
                    model.at("input", number, "data_type"),
                    f"input '{name}' is {_type(tensor.data_type)} here and {types[name]} in {path}",
                    f"every request fails, or the model is not loaded: TensorFlow expects {types[name]}",
                    f"write data_type: {types[name]}",
                )
        for number, tensor in enumerate(model.config.output):
            node = tensor.name.partition(":")[0]
            if node and node not in file.names:
                meant = nearest(node, file.names) if len(file.names) < 20_000 else None
                yield Finding(
                    model.at("output", number, "name"),
                    f"{path} has no node '{node}' for this output",
                    f"Triton does not load the model: unexpected inference output '{tensor.name}'",
                    f'write name: "{meant}"' if meant else "write the name of a node of the graph",
                )


def _type(number: int) -> str:
    name = DataType.Name(number) if number in DataType.values() else ""
    return "" if name == "TYPE_INVALID" else name
