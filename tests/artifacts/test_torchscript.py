"""TorchScript files answer as the module that they are made of."""

from pathlib import Path

import pytest
import torch

from triton_ensembles.artifacts.torchscript import write
from triton_ensembles.ground.errors import EnsembleError


def test_a_file_that_differs_from_the_module_fails(tmp_path: Path) -> None:
    """Otherwise nothing would notice that torch's optimizer has broken a network."""

    class Noisy(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.rand_like(x)

    with pytest.raises(EnsembleError, match=r"the TorchScript file differs from torch by .*, more than 0\.0001"):
        write(Noisy(), tmp_path / "model.pt", [torch.ones(2, 3)])
