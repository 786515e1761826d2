"""A TorchScript file, which declares the number and the kinds of its arguments and outputs."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from triton_ensembles.runtime.backends.common.model_instance import LoadError, ModelInstance, Tensor
from triton_ensembles.runtime.backends.pytorch.tensor_positions import Positions, input_positions, output_positions


class Script:
    """``forward()`` of a TorchScript module. Arguments are tensors or lists of strings, or one dictionary of tensors
    with the inputs' names as keys."""

    def __init__(self, model: ModelInstance, device: torch.device) -> None:
        try:
            self._module = torch.jit.load(model.file, map_location=device).eval()  # type: ignore[no-untyped-call]
            schema = self._module.forward.schema
        except (RuntimeError, ValueError, AttributeError) as error:
            reason = str(error).partition("\n")[0]
            message = f"torch {torch.__version__} cannot load {model.file.name} as TorchScript: {reason}"
            raise LoadError(message) from error
        arguments = schema.arguments[1:]  # the first one is the module itself
        names = [tensor.name for tensor in model.inputs]
        self._takes_dictionary = len(arguments) == 1 and arguments[0].type.kind() == "DictType"
        if self._takes_dictionary:
            self.inputs = Positions({name: position for position, name in enumerate(names)})
        else:
            self.inputs = input_positions(names, [argument.name for argument in arguments])
            for tensor in model.inputs:
                _check_kind("input", tensor, arguments[self.inputs.of[tensor.name]].type)
        returned = schema.returns[0].type
        kinds = list(returned.elements()) if returned.kind() == "TupleType" else [returned]
        self.outputs = output_positions([tensor.name for tensor in model.outputs], len(kinds))
        for tensor in model.outputs:
            _check_kind("output", tensor, kinds[self.outputs.of[tensor.name]])

    def __call__(self, values: Mapping[str, Any]) -> Sequence[Any]:
        """All outputs, in the model's order, for tensors (or lists of strings) by input name."""
        arguments = (dict(values),) if self._takes_dictionary else self.inputs.arguments(values)
        results = self._module(*arguments)
        return results if isinstance(results, tuple) else (results,)


def _check_kind(place: str, tensor: Tensor, kind: Any) -> None:
    """Check for a tensor or, for TYPE_STRING, a list of texts: torch has no tensors of texts."""
    expected = "List[str]" if tensor.data_type == "TYPE_STRING" else "Tensor"
    if kind.annotation_str != expected:
        raise LoadError(
            f'{place} "{tensor.name}" is {tensor.data_type} in the config, which needs a {expected} in forward(), but '
            f"that has a {kind.annotation_str}"
        )
