"""A package of AOTInductor (``.pt2``): a model that torch.export read and torch._inductor compiled ahead of time.

It tells how many tensors go in and come out, and for which device it was compiled; names it has none. Elements' types
and dims are checked by the compiled code itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import torch
from torch.utils._pytree import treespec_loads

from triton_ensembles.backends.common.declared import LoadError, Model
from triton_ensembles.backends.pytorch.naming import input_positions, output_positions
from triton_ensembles.backends.pytorch.torch_script import sorted_by

SUFFIX = ".pt2"


class Package:
    """The compiled model. It takes and returns its tensors in the order in which torch.export flattened them.

    Raises:
        LoadError: this is no package, it was compiled for another device, or the config has other tensors.
    """

    def __init__(self, model: Model, device: torch.device) -> None:
        # Read by the compiled code at its first run; without it a wrong shape would be read beyond its end.
        os.environ["AOTI_RUNTIME_CHECK_INPUTS"] = "1"
        index = -1 if device.index is None else device.index
        try:
            found = torch._inductor.aoti_load_package(str(model.file), device_index=index)
            self._loader = found.loader
            counts = [treespec_loads(spec).num_leaves for spec in self._loader.get_call_spec()]
            compiled_for = self._loader.get_metadata().get("AOTI_DEVICE_KEY", device.type)
        except Exception as error:  # RuntimeError, OSError, zip and JSON errors: what a broken package leads to
            reason = next(iter(str(error).splitlines()), "")
            raise LoadError(
                f"torch {torch.__version__} cannot load {model.file.name} as a package of AOTInductor: {reason}"
            ) from error
        if compiled_for != device.type:
            raise LoadError(f"{model.file.name} was compiled for {compiled_for}, but this instance runs on {device}")
        for tensor in (*model.inputs, *model.outputs):
            if tensor.data_type == "TYPE_STRING":
                raise LoadError(f'"{tensor.name}" is TYPE_STRING in the config, but a package takes tensors only')
        arguments = [str(position) for position in range(counts[0])]
        self.inputs = input_positions([tensor.name for tensor in model.inputs], arguments, named=False)
        self.outputs = output_positions([tensor.name for tensor in model.outputs], counts[1])

    def __call__(self, given: Mapping[str, torch.Tensor]) -> Sequence[torch.Tensor]:
        """All outputs, in the model's order, for a tensor by input name."""
        made: Sequence[torch.Tensor] = self._loader.boxed_run(sorted_by(self.inputs, given))
        return made
