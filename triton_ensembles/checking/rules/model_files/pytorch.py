"""Tensors of TorchScript models: pytorch_backend r24.10 libtorch.cc ValidateInputs, ValidateOutputs."""

import re
from collections.abc import Iterator
from typing import Any

from triton_ensembles.checking.config_tensors import named_indexes, tensors, type_name
from triton_ensembles.checking.examples import TORCHSCRIPT, X, Y, io_tensor, python_model
from triton_ensembles.checking.loaded_files import file_of, loaded_files
from triton_ensembles.checking.rule import Example, Finding, Model, Server, rule, warning

SOURCE = "pytorch_backend r24.10 libtorch.cc GetNamingConvention, ValidateOutputs"
SERVER, GOOD_LOADS = Server.UNTESTED, False
_UNSUPPORTED = ("TYPE_UINT16", "TYPE_UINT32", "TYPE_UINT64", "TYPE_BF16")


def _torch(*extra: str, inputs: str = X, outputs: str = Y, size: int = 8) -> Example:
    config = python_model(*extra, inputs=inputs, outputs=outputs, size=size, backend='platform: "pytorch_libtorch"')
    return Example(config, {"1/model.pt": TORCHSCRIPT})


GOOD = _torch(inputs=io_tensor("X__0"), outputs=f"{io_tensor('Y__0')}, {io_tensor('Z__1')}")


def _is_torch(model: Model) -> bool:
    return model.backend.name == "pytorch" and model.config.runtime in ("", "libtriton_pytorch.so")


@warning(
    "The outputs of a TorchScript model are in the order of their numbers, and no two have one",
    bad=_torch(outputs=f"{io_tensor('Z__1')}, {io_tensor('Y')}"),
)
def pytorch_tensor_order(model: Model) -> Iterator[Finding]:
    for kind, named in _named(model):
        indexes = named_indexes([tensor.name for tensor in named])
        yield from _numbered_twice(model, kind, named, indexes) if indexes else _misplaced(model, kind, named)


def _misplaced(model: Model, kind: str, named: list[Any]) -> Iterator[Finding]:
    numbers = [re.search(r"_([0-9]+)\Z", tensor.name) for tensor in named]
    in_some_order = sorted(int(match[1][:9]) if match else -1 for match in numbers) == [*range(len(named))]
    for index, number in enumerate(numbers):
        certain = "__" in named[index].name or in_some_order
        if number and certain and int(number[1][:9]) != index:
            odd = next((match.name for match in named if named_indexes([match.name]) is None), named[index].name)
            message = f"'{named[index].name}' is {kind} {index} of the model, not {int(number[1][:9])}"
            effect = f"as '{odd}' does not end in __ and a number, Triton goes by the order in config.pbtxt"
            cure = f"name all {kind}s like {kind.upper()}__0, or list them in the model's order"
            yield Finding(model.at(kind, index, "name"), message, effect, cure)
            return


def _numbered_twice(model: Model, kind: str, named: list[Any], indexes: list[int]) -> Iterator[Finding]:
    firsts: dict[int, int] = {}
    for index, number in enumerate(indexes):
        if firsts.setdefault(number, index) != index:
            message = f"'{named[firsts[number]].name}' and '{named[index].name}' are both {kind} {number} of the model"
            effect = "Triton answers both with the same tensor"
            if kind == "input":
                effect = "Triton gives the model only one of the two"
            cure = f"write {named[index].name.rpartition('__')[0]}__{index}"
            yield Finding(model.at(kind, index, "name"), message, effect, cure)


@rule("A TorchScript model has inputs and outputs in its config.pbtxt", bad=_torch(outputs=""))
def pytorch_tensors_missing(model: Model) -> Iterator[Finding]:
    for kind in ("input", "output"):
        if model.has_config and _is_torch(model) and not getattr(model.config, kind):
            message = f"this TorchScript model has no {kind} in its config.pbtxt, and Triton completes none"
            effect = f"Triton refuses it: model configuration must contain at least one {kind}, none were specified"
            cure = f'write {kind} [ {{ name: "{kind.upper()}__0", data_type: TYPE_…, dims: [ … ] }} ]'
            yield Finding(model.at(), message, effect, cure)


@rule(
    "The tensors of a TorchScript model have types that its backend knows",
    source="pytorch_backend r24.10 libtorch_utils.cc ModelConfigDataTypeToTorchType",
    bad=_torch(inputs=io_tensor("X__0", "UINT32"), outputs=io_tensor("Y__0")),
)
def pytorch_data_type(model: Model) -> Iterator[Finding]:
    for kind, index, tensor in tensors(model) if _is_torch(model) else ():
        name = type_name(tensor.data_type)
        if name in _UNSUPPORTED:
            message = f"{kind} '{tensor.name}' is {name}, which the pytorch backend does not know"
            effect = f"Triton refuses it: unsupported datatype {name} for {kind} '{tensor.name}'"
            cure = "use TYPE_FP32 or TYPE_FP16 and convert it in the model"
            cure = "use a signed type, such as TYPE_INT64" if "UINT" in name else cure
            yield Finding(model.at(kind, index, "data_type"), message, effect, cure)


def arguments_of(model: Model) -> tuple[str, ...]:
    """The arguments of forward(), () when they are not known or one dictionary has all the inputs."""
    for path, _ in loaded_files(model):
        file = file_of(model, path)
        if file and file.inputs and not (file.kinds and file.kinds[0].startswith("Dict[")):
            return tuple(argument.name for argument in file.inputs)
    return ()


def _named(model: Model) -> Iterator[tuple[str, list[Any]]]:
    """("input" or "output", its tensors) of a TorchScript model, where Triton does not go by the arguments' names."""
    for kind in ("input", "output") if _is_torch(model) else ():
        named = list(getattr(model.config, kind))
        if kind == "output" or not {tensor.name for tensor in named} <= set(arguments_of(model)):
            yield kind, named
