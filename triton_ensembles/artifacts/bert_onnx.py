"""A sentence encoder of the BERT family as ONNX, with the names and types of Triton's config.

token_ids INT32 [batch, tokens], attn_mask INT32 [batch, tokens] -> output FP32 [batch, tokens, hidden], the last
hidden state; batch and tokens are dynamic. The file is accepted only if its outputs agree with torch.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.onnx_export import OPSET, compare, export

if TYPE_CHECKING:
    import torch

TOOLS = ("torch", "transformers", "onnx", "onnxscript", "onnxruntime")
READS = ("artifacts/onnx_export.py",)

DYNAMIC = {0: "batch", 1: "tokens"}
SHAPES = ((1, 2), (3, 17), (8, 33), (2, 256))  # batch, tokens


def make(job: Job) -> Facts:
    import torch
    from transformers import AutoModel

    with tempfile.TemporaryDirectory() as scratch:
        for name, path in job.files.items():  # transformers reads one folder with the files under their own names
            shutil.copyfile(path, Path(scratch) / name)
        # Eager attention is plain matrix products, which every exporter and every engine understands.
        model = AutoModel.from_pretrained(scratch, attn_implementation="eager", dtype=torch.float32).eval()
    encoder = _encoder(model)
    example = example_inputs(2, 9, model.config.vocab_size)
    export(encoder, job.output, example, "output", dict.fromkeys((*example, "output"), DYNAMIC))
    feeds = [example_inputs(*shape, model.config.vocab_size) for shape in SHAPES]
    difference = compare(encoder, job.output, feeds, "output")
    return {"relative_difference_to_torch": float(f"{difference:.1e}"), "opset": OPSET}


def _encoder(model: torch.nn.Module) -> torch.nn.Module:
    import torch

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, token_ids: torch.Tensor, attn_mask: torch.Tensor) -> torch.Tensor:
            output = self.model(input_ids=token_ids.long(), attention_mask=attn_mask.long())
            hidden: torch.Tensor = output.last_hidden_state
            return hidden

    return Encoder().eval()


def example_inputs(batch: int, tokens: int, vocabulary: int) -> dict[str, torch.Tensor]:
    """Seeded ids, and a mask whose rows end at different lengths."""
    import torch

    generator = torch.Generator().manual_seed(batch * 1000 + tokens)
    ids = torch.randint(0, vocabulary, (batch, tokens), generator=generator, dtype=torch.int32)
    lengths = torch.randint(1, tokens + 1, (batch, 1), generator=generator)
    return {"token_ids": ids, "attn_mask": (torch.arange(tokens)[None, :] < lengths).to(torch.int32)}
