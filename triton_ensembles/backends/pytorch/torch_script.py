"""Loads a TorchScript file, compares its ``forward()`` with the config, and calls it.

A file declares the number and the kinds of arguments and outputs, but neither element types nor dims.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from triton_ensembles.backends.common.model_instance import LoadError, ModelInstance
from triton_ensembles.backends.pytorch.tensor_positions import Positions, input_positions, output_positions

_TEXTS = "List[str]"


class Script:
    """``forward()`` of a TorchScript module.

    Arguments are tensors or lists of strings, or one dictionary of tensors with the inputs' names as keys.

    Raises:
        LoadError: this is not TorchScript, or its ``forward()`` does not take or return what the config declares.
    """

    def __init__(self, model: ModelInstance, device: torch.device) -> None:
        try:
            self._module = torch.jit.load(model.file, map_location=device).eval()  # type: ignore[no-untyped-call]
            schema = self._module.forward.schema
        except (RuntimeError, ValueError, AttributeError) as error:
            reason = next(iter(str(error).splitlines()), "")
            raise LoadError(
                f"torch {torch.__version__} cannot load {model.file.name} as TorchScript: {reason}"
            ) from error
        arguments = schema.arguments[1:]  # the first one is the module itself
        names = [tensor.name for tensor in model.inputs]
        self._takes_dictionary = len(arguments) == 1 and arguments[0].type.kind() == "DictType"
        if self._takes_dictionary:
            self.inputs = Positions({name: position for position, name in enumerate(names)})
        else:
            self.inputs = input_positions(names, [argument.name for argument in arguments])
            for name, position in self.inputs.of.items():
                _check_kind("input", _type_in_config(model.inputs, name), arguments[position].type, name)
        kinds = _returned(schema.returns[0].type)
        self.outputs = output_positions([tensor.name for tensor in model.outputs], len(kinds))
        for name, position in self.outputs.of.items():
            _check_kind("output", _type_in_config(model.outputs, name), kinds[position], name)

    def __call__(self, given: Mapping[str, Any]) -> Sequence[Any]:
        """All outputs, in the model's order, for tensors (or lists of strings) by input name."""
        arguments = (dict(given),) if self._takes_dictionary else sorted_by(self.inputs, given)
        made = self._module(*arguments)
        return made if isinstance(made, tuple) else (made,)


def sorted_by(positions: Positions, given: Mapping[str, Any]) -> list[Any]:
    """The values in the order of the model's arguments."""
    return [given[name] for name in sorted(positions.of, key=positions.of.__getitem__)]


def _type_in_config(tensors: Sequence[Any], name: str) -> str | None:
    data_type: str | None = next(tensor.data_type for tensor in tensors if tensor.name == name)
    return data_type


def _returned(kind: Any) -> list[Any]:
    return list(kind.elements()) if kind.kind() == "TupleType" else [kind]


def _check_kind(what: str, data_type: str | None, kind: Any, name: str) -> None:
    """Check for a tensor or, for TYPE_STRING, a list of texts: torch has no tensors of texts."""
    wanted = _TEXTS if data_type == "TYPE_STRING" else "Tensor"
    if kind.annotation_str != wanted:
        raise LoadError(
            f'{what} "{name}" is {data_type} in the config, which needs a {wanted} in forward(), but that has a '
            f"{kind.annotation_str}"
        )
