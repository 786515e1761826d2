"""Triton backend "pytorch" in Python, for a server without the native one: the same config.pbtxt loads in both."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

# The stub puts this folder on sys.path, not what the backends share. resolve(): the server may see us through a link.
sys.path.append(str(Path(__file__).resolve().parents[1] / "common"))

from served_model import Engine, ServedModel

if TYPE_CHECKING:
    from declared import Model


class TritonPythonModel(ServedModel):
    default_filename = "model.pt"

    def load(self, model: Model) -> Engine:
        # Not at the top: auto-completion starts a stub of its own that only imports this module.
        from torch_engine import TorchEngine

        return TorchEngine(model)
