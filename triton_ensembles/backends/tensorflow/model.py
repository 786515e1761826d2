"""Triton backend "tensorflow" in Python, for a server without the native one: the same config.pbtxt loads in both."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

# The stub puts only this folder on sys.path, not the package. resolve(): the server may see this file through a link.
sys.path.append(str(Path(__file__).resolve().parents[3]))

from triton_ensembles.backends.common.served_model import Engine, ServedModel

if TYPE_CHECKING:
    from triton_ensembles.backends.common.declared import Model


class TritonPythonModel(ServedModel):
    default_filename = "model.graphdef"

    def load(self, model: Model) -> Engine:
        # Not at the top: auto-completion starts a stub of its own that only imports this module.
        from triton_ensembles.backends.tensorflow.frozen_graph import FrozenGraph

        return FrozenGraph(model)
