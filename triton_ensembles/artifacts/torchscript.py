"""A torch module as a TorchScript file, for Triton's platform pytorch_libtorch.

The bytes of the file depend on the network alone, and its outputs are compared with the network's.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from triton_ensembles.ground.errors import EnsembleError

if TYPE_CHECKING:
    import torch

TOLERANCE = 1e-4  # max abs difference of an output to the network's, relative to the largest; fp32 gives about 1e-6


def write(module: torch.nn.Module, output: Path, examples: Sequence[torch.Tensor]) -> float:
    """Script, freeze and save ``module``. Freezing folds batch normalization into the convolutions. Returns the largest
    difference of an output for ``examples``, inputs, to the module's, relative to the largest output. Raises
    :class:`EnsembleError`: it is more than TOLERANCE, or not a number."""
    import torch

    load: Callable[..., torch.jit.ScriptModule] = torch.jit.load  # torch does not annotate it
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.export is newer; Triton's backend reads this
        content = _saved(torch.jit.freeze(torch.jit.script(module.eval())))
        # Saved again after loading without them, the file refers to places in its own code instead.
        output.write_bytes(_saved(load(io.BytesIO(_without_source_places(content)))))
        loaded = load(output)
        pairs = [(loaded(example), module(example)) for example in examples]
    worst = max(float((answer - expected).abs().max() / expected.abs().max()) for answer, expected in pairs)
    if not worst <= TOLERANCE:
        raise EnsembleError(f"the TorchScript file differs from torch by {worst:.2e}, more than {TOLERANCE}")
    return worst


def _saved(script: torch.jit.ScriptModule) -> bytes:
    import torch

    stream = io.BytesIO()  # a file's name would become the name of the archive's folder
    torch.jit.save(script, stream)
    return stream.getvalue()


def _without_source_places(content: bytes) -> bytes:
    """The archive less its ``.debug_pkl`` members, which name the source files on the machine that scripted it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(stream, "w") as kept:
        for member in archive.infolist():
            if not member.filename.endswith(".debug_pkl"):
                kept.writestr(member, archive.read(member))
    return stream.getvalue()
