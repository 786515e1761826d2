"""A package of AOTInductor (``.pt2``): a model that torch.export exported and torch._inductor compiled.

It records the numbers of its inputs and outputs and the device that it was compiled for, but no names. The compiled
code itself checks element types and dims.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import torch
from torch.utils._pytree import treespec_loads

from triton_ensembles.backends.common.model_instance import LoadError, ModelInstance
from triton_ensembles.backends.pytorch.tensor_positions import input_positions, output_positions
from triton_ensembles.backends.pytorch.torch_script import sorted_by

SUFFIX = ".pt2"


class Package:
    """The compiled model. It takes and returns its tensors in the order in which torch.export flattened them.

    Raises:
        LoadError: this is not a package, it was compiled for another device, or the config has other tensors.
    """

    def __init__(self, model: ModelInstance, device: torch.device) -> None:
        # The compiled code reads this at its first run; without it, it would read beyond the end of a wrong shape.
        os.environ["AOTI_RUNTIME_CHECK_INPUTS"] = "1"
        index = -1 if device.index is None else device.index
        try:
            found = torch._inductor.aoti_load_package(str(model.file), device_index=index)
            self._loader = found.loader
            counts = [treespec_loads(spec).num_leaves for spec in self._loader.get_call_spec()]
            compiled_for = self._loader.get_metadata().get("AOTI_DEVICE_KEY", device.type)
        except Exception as error:  # a broken package causes RuntimeError, OSError, zip and JSON errors
            reason = next(iter(str(error).splitlines()), "")
            raise LoadError(
                f"torch {torch.__version__} cannot load {model.file.name} as a package of AOTInductor: {reason}"
            ) from error
        if compiled_for != device.type:
            raise LoadError(f"{model.file.name} was compiled for {compiled_for}, but this instance runs on {device}")
        for tensor in (*model.inputs, *model.outputs):
            if tensor.data_type == "TYPE_STRING":
                raise LoadError(f'"{tensor.name}" is TYPE_STRING in the config, but a package takes only tensors')
        arguments = [str(position) for position in range(counts[0])]
        self.inputs = input_positions([tensor.name for tensor in model.inputs], arguments, named=False)
        self.outputs = output_positions([tensor.name for tensor in model.outputs], counts[1])

    def __call__(self, given: Mapping[str, torch.Tensor]) -> Sequence[torch.Tensor]:
        """All outputs, in the model's order, for tensors by input name."""
        made: Sequence[torch.Tensor] = self._loader.boxed_run(sorted_by(self.inputs, given))
        return made
