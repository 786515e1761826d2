"""BERT with its language-modeling head as ONNX, for texts with one [MASK]: the logits of the word at that place.

token_ids INT32 [batch, tokens], attn_mask INT32 [batch, tokens] -> output FP32 [batch, vocabulary]; batch and tokens
are dynamic. The head computes at the place of the first [MASK] only: at all of them it would take longer than half of
the encoder, and return 4 MB for a text of 32 tokens. The file is accepted only if its outputs agree with torch.

The build runs it as a maker's script: ``python ensembles/bert_base/make_model.py OUTPUT JOB``, with the files of a
BERT, or with the option ``seed`` of random weights.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.onnx_export import OPSET, compare, export
from triton_ensembles.artifacts.script import main
from triton_ensembles.ground.errors import EnsembleError

if TYPE_CHECKING:
    import torch
    from transformers import BertForMaskedLM

MASK = "[MASK]"
UNCASED_MASK = 103  # its number in the vocabulary of bert-base-uncased
DYNAMIC = {0: "batch", 1: "tokens"}
SHAPES = ((1, 3), (3, 17), (2, 130))  # batch, tokens


def make(job: Job) -> Facts:
    return _random(job) if "seed" in job.options else _pretrained(job)


def _pretrained(job: Job) -> Facts:
    """With the weights of the source: config.json, model.safetensors and vocab.txt of a BERT."""
    import torch
    from transformers import BertForMaskedLM

    words = job.files["vocab.txt"].read_text(encoding="utf-8").splitlines()
    if MASK not in words:
        raise EnsembleError(f"vocab.txt has no {MASK}", cure="take the files of a BERT for masked words")
    with tempfile.TemporaryDirectory() as scratch:
        for name, path in job.files.items():  # transformers reads one folder with the files under their own names
            shutil.copyfile(path, Path(scratch) / name)
        # Eager attention is plain matrix products, which every exporter and every engine understands.
        model, loading = BertForMaskedLM.from_pretrained(
            scratch, attn_implementation="eager", dtype=torch.float32, output_loading_info=True
        )
    if missing := sorted(loading["missing_keys"]):
        raise EnsembleError(f"the weights lack {missing[0]}", cure="take a BERT that was trained to fill in words")
    return _write(model, words.index(MASK), job)


def _random(job: Job) -> Facts:
    """BERT-base with random weights of ``options.seed``; 12 layers unless ``layers`` is given."""
    from transformers import BertConfig, BertForMaskedLM

    layers, seed = int(job.options.get("layers", 12)), int(job.options["seed"])
    model = BertForMaskedLM(BertConfig(num_hidden_layers=layers, attn_implementation="eager"))
    fill(model, seed)
    return {"seed": seed, "layers": layers} | _write(model, UNCASED_MASK, job)


def fill(model: torch.nn.Module, seed: int) -> None:
    """Normal numbers from numpy's PCG64, as BERT begins its training with, but larger: otherwise all words would be
    about as likely."""
    import torch

    generator = np.random.default_rng(seed)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.dim() > 1:
                numbers = generator.standard_normal(tuple(value.shape), dtype=np.float32)
                value.copy_(torch.from_numpy(numbers * np.float32(0.08)))
            else:
                value.fill_(float(name.endswith("weight")))


def _write(model: BertForMaskedLM, mask: int, job: Job) -> Facts:
    import torch

    network, feeds = masked_word(model, mask), []
    for batch, tokens in SHAPES:
        generator = torch.Generator().manual_seed(batch * 1000 + tokens)
        ids = torch.randint(0, model.config.vocab_size, (batch, tokens), generator=generator, dtype=torch.int32)
        ids[ids == mask] = 0
        ids[range(batch), [row % tokens for row in range(batch)]] = mask
        lengths = torch.randint(1, tokens + 1, (batch, 1), generator=generator)
        feeds.append({"token_ids": ids, "attn_mask": (torch.arange(tokens)[None, :] < lengths).to(torch.int32)})
    export(network, job.output, feeds[1], "output", dict.fromkeys(feeds[1], DYNAMIC) | {"output": {0: "batch"}})
    return {
        "relative_difference_to_torch": float(f"{compare(network, job.output, feeds, 'output'):.1e}"),
        "opset": OPSET,
    }


def masked_word(model: BertForMaskedLM, mask: int) -> torch.nn.Module:
    """The logits [batch, vocabulary] of ``model`` at the first token ``mask`` of each row."""
    import torch

    class MaskedWord(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, token_ids: torch.Tensor, attn_mask: torch.Tensor) -> torch.Tensor:
            hidden = self.model.bert(token_ids.long(), attn_mask.long()).last_hidden_state
            # The place is chosen before the head: behind it, OpenVINO answers int8 with one axis more, because its
            # scales of each word keep the axis that is taken away.
            place = (token_ids == mask).int().argmax(1)[:, None, None].expand(-1, 1, hidden.shape[2])
            logits: torch.Tensor = self.model.cls(hidden.gather(1, place)[:, 0])
            return logits

    return MaskedWord().eval()


if __name__ == "__main__":
    main(make)
