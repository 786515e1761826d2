"""A torch model in either form that Triton's PyTorch backend serves: a TorchScript file or a package of AOTInductor.

A TorchScript file declares the number and the kinds of arguments and outputs; a package (``.pt2``: what torch.export
exported and torch._inductor compiled) their numbers and the device, and its code checks element types and dims.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils._pytree import treespec_loads

from triton_ensembles.runtime.backends.common.model_instance import LoadError, ModelInstance, Tensor
from triton_ensembles.runtime.backends.pytorch.tensor_positions import Positions, input_positions, output_positions

PACKAGE_SUFFIX = ".pt2"


class Script:
    """``forward()`` of a TorchScript module. Arguments are tensors or lists of strings, or one dictionary of tensors
    with the inputs' names as keys."""

    def __init__(self, model: ModelInstance, device: torch.device) -> None:
        try:
            self._module = torch.jit.load(model.file, map_location=device).eval()  # type: ignore[no-untyped-call]
            schema = self._module.forward.schema
        except (RuntimeError, ValueError, AttributeError) as error:
            raise _refusal(model, "TorchScript", error) from error
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


class Package:
    """The compiled model. It takes and returns its tensors in the order in which torch.export flattened them."""

    def __init__(self, model: ModelInstance, device: torch.device) -> None:
        # The compiled code reads this at its first run; without it, it would read beyond the end of a wrong shape.
        os.environ["AOTI_RUNTIME_CHECK_INPUTS"] = "1"
        index = -1 if device.index is None else device.index
        try:
            loader = torch._inductor.aoti_load_package(str(model.file), device_index=index)
            self._loader = loader.loader
            counts = [treespec_loads(spec).num_leaves for spec in self._loader.get_call_spec()]
            compiled_for = self._loader.get_metadata().get("AOTI_DEVICE_KEY", device.type)
        except Exception as error:  # a broken package causes RuntimeError, OSError, zip and JSON errors
            raise _refusal(model, "a package of AOTInductor", error) from error
        if compiled_for != device.type:
            raise LoadError(f"{model.file.name} was compiled for {compiled_for}, but this instance runs on {device}")
        for tensor in (*model.inputs, *model.outputs):
            if tensor.data_type == "TYPE_STRING":
                raise LoadError(f'"{tensor.name}" is TYPE_STRING in the config, but a package takes only tensors')
        arguments = [str(position) for position in range(counts[0])]
        self.inputs = input_positions([tensor.name for tensor in model.inputs], arguments, named=False)
        self.outputs = output_positions([tensor.name for tensor in model.outputs], counts[1])

    def __call__(self, values: Mapping[str, torch.Tensor]) -> Sequence[torch.Tensor]:
        """All outputs, in the model's order, for tensors by input name."""
        results: Sequence[torch.Tensor] = self._loader.boxed_run(self.inputs.arguments(values))
        return results


def _refusal(model: ModelInstance, form: str, error: Exception) -> LoadError:
    reason = str(error).partition("\n")[0]
    return LoadError(f"torch {torch.__version__} cannot load {model.file.name} as {form}: {reason}")


def _check_kind(place: str, tensor: Tensor, kind: Any) -> None:
    """Check for a tensor or, for TYPE_STRING, a list of texts: torch has no tensors of texts."""
    expected = "List[str]" if tensor.data_type == "TYPE_STRING" else "Tensor"
    if kind.annotation_str != expected:
        raise LoadError(
            f'{place} "{tensor.name}" is {tensor.data_type} in the config, which needs a {expected} in forward(), but '
            f"that has a {kind.annotation_str}"
        )
