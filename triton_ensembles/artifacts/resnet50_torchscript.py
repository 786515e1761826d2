"""ResNet-50 as TorchScript, for Triton's platform pytorch_libtorch: with torchvision's weights, or seeded random ones.

INPUT__0 FP32 [batch, 3, 224, 224] -> OUTPUT__0 FP32 [batch, 1000], logits. Triton numbers the tensors; TorchScript has
no names for them. The bytes of the file depend on the network alone, and its outputs are compared with the network's.
"""

from __future__ import annotations

import io
import pickle
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.errors import EnsembleError

if TYPE_CHECKING:
    import torch

    from triton_ensembles.artifacts.resnet50 import ResNet50

TOOLS = ("torch", "numpy")
READS = ("artifacts/resnet50.py",)

BATCHES = (1, 5)
TOLERANCE = 1e-4  # max abs difference of an output to the network's, relative to the largest; fp32 gives about 1e-6
# The weight of a block's branch relative to its shortcut: with 1, the variance would double in each of the 16 blocks.
BRANCH_GAIN = 0.25


def make(job: Job) -> Facts:
    """With torchvision's weights, which are the source file."""
    return _write_checked(pretrained(job), job)


def pretrained(job: Job) -> ResNet50:
    """The network with the weights of the source file. Raises :class:`EnsembleError` for those of another."""
    import torch

    from triton_ensembles.artifacts.resnet50 import ResNet50

    source = job.source_file()
    try:
        weights = torch.load(source, map_location="cpu", weights_only=True)
        model = ResNet50()
        model.load_state_dict(weights)
    except (RuntimeError, TypeError, AttributeError, pickle.UnpicklingError) as error:
        reason = " ".join(str(error).split())[:300]
        raise EnsembleError(f"{job.file} does not contain the weights of a ResNet-50: {reason}") from error
    return model


def make_random(job: Job) -> Facts:
    """With random weights of ``options.seed``: the answers mean nothing, the speed is the real one."""
    return {"seed": job.options["seed"]} | _write_checked(random(job.options), job)


def random(options: Mapping[str, Any]) -> ResNet50:
    """The network with random weights of ``seed``, and fewer ``blocks`` in its four stages if that is given."""
    from triton_ensembles.artifacts.resnet50 import BLOCKS, ResNet50

    model = ResNet50(tuple(map(int, options.get("blocks", BLOCKS))))
    fill(model, int(options["seed"]))
    return model


def fill(model: torch.nn.Module, seed: int) -> None:
    """Set the parameters: He-normal kernels from numpy's PCG64, whose stream is the same in every release, and batch
    normalization without effect, except at the end of a block's branch.
    """
    import torch

    generator = np.random.default_rng(seed)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.dim() > 1:
                gain = 2.0 if value.dim() == 4 else 1.0  # a ReLU halves what comes out of a convolution
                numbers = generator.standard_normal(tuple(value.shape), dtype=np.float32)
                value.copy_(torch.from_numpy(numbers * np.float32(np.sqrt(gain / value[0].numel()))))
            else:
                value.fill_(BRANCH_GAIN if name.endswith("bn3.weight") else float(name.endswith("weight")))


def _write_checked(model: torch.nn.Module, job: Job) -> Facts:
    import torch

    from triton_ensembles.artifacts.resnet50 import SIDE

    generator = torch.Generator().manual_seed(0)
    examples = [torch.randn((batch, 3, SIDE, SIDE), generator=generator) for batch in BATCHES]
    return {"relative_difference_to_torch": float(f"{write(model, job.output, examples):.1e}")}


def write(module: torch.nn.Module, output: Path, examples: Sequence[torch.Tensor]) -> float:
    """Script, freeze and save ``module``. Freezing folds batch normalization into the convolutions.

    Args:
        examples: inputs to compare the file's outputs with the module's.

    Returns:
        The largest difference of an output, relative to the largest output.

    Raises:
        EnsembleError: the difference is more than TOLERANCE, or not a number.
    """
    import torch

    load: Callable[..., torch.jit.ScriptModule] = torch.jit.load  # torch does not annotate it
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.export is newer; Triton's backend reads this
        content = _saved(torch.jit.freeze(torch.jit.script(module.eval())))
        # Saved again after loading without them, the file refers to places in its own code instead.
        output.write_bytes(_saved(load(io.BytesIO(_without_source_places(content)))))
        loaded = load(output)
        pairs = [(loaded(example), module(example)) for example in examples]
    worst = max(float((found - expected).abs().max() / expected.abs().max()) for found, expected in pairs)
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
