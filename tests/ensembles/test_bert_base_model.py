"""BERT with its head for masked words: the ONNX file answers as transformers does, at the place of the [MASK]."""

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from safetensors.torch import load_file, save_file

from checkout import ENSEMBLES, ROOT
from ensembles.bert_base import make_model
from triton_ensembles.artifacts import Job
from triton_ensembles.building.made.artifact_maker import MakerCall
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.places import RECIPE

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"word{number}" for number in range(95))]


def checkpoint(folder: Path, drop: str = "") -> tuple[Any, Job]:
    """A small BERT as the hub has BERT-base: norms with their old names gamma and beta."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64
    )
    model = BertForMaskedLM(config).eval()
    make_model.fill(model, 5)
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    old = {}
    for name, value in load_file(folder / "model.safetensors").items():
        renamed = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        if not drop or drop not in name:
            old[renamed] = value
    save_file(old, folder / "model.safetensors", {"format": "pt"})
    files = {name: folder / name for name in ("config.json", "model.safetensors", "vocab.txt")}
    return model, Job(folder / "model.onnx", files, None, {}, "", "")


def test_the_logits_are_those_at_the_mask(tmp_path: Path) -> None:
    model, job = checkpoint(tmp_path)
    facts: dict[str, Any] = make_model.make(job)
    assert facts["relative_difference_to_torch"] < 1e-4
    ids = np.array([[2, 9, 4, 17, 3, 0], [2, 8, 30, 31, 4, 3]], np.int32)
    mask = (ids != 0).astype(np.int32)
    (found,) = onnxruntime.InferenceSession(job.output).run(["output"], {"token_ids": ids, "attn_mask": mask})
    with torch.inference_mode():
        logits = model(torch.from_numpy(ids).long(), torch.from_numpy(mask).long()).logits.numpy()
    np.testing.assert_allclose(found, logits[[0, 1], [2, 4]], rtol=1e-3, atol=1e-4)
    assert not np.allclose(logits[0, 2], logits[0, 1], rtol=1e-2)


def test_weights_without_the_head_are_refused(tmp_path: Path) -> None:
    """Otherwise transformers fills in random numbers, and every answer is noise."""
    _, job = checkpoint(tmp_path, drop="cls.predictions.transform.dense.weight")
    with pytest.raises(EnsembleError, match=r"the weights lack cls\.predictions\.transform\.dense\.weight"):
        make_model.make(job)


@pytest.mark.slow
def test_openvino_takes_it_in_int8(tmp_path: Path) -> None:
    """By the recipe's own options. A head before the place is chosen would be answered in another rank, and refused."""
    _, job = checkpoint(tmp_path)
    make_model.make(job)
    recipe = tomllib.loads((ENSEMBLES / "bert_base" / RECIPE).read_text())
    (options,) = (entry["options"] for entry in recipe["artifacts"] if entry["maker"] == "int8_onnx")
    int8, files = tmp_path / "1" / "model.int8.onnx", {**job.files, "model.onnx": job.output}
    int8.parent.mkdir()
    ids, mask, logits = (
        {"name": name, "data_type": f"TYPE_{kind}", "dims": [size]}
        for name, kind, size in (("token_ids", "INT32", "-1"), ("attn_mask", "INT32", "-1"), ("output", "FP32", "100"))
    )
    config = {"config": json.dumps({"max_batch_size": 32, "input": [ids, mask], "output": [logits]})}
    MakerCall("int8_onnx", options).run(Job(int8, files, "model.onnx", options, root=ROOT), "model", print)
    written = Job(tmp_path / "ir", {int8.name: int8}, int8.name, config)
    assert MakerCall("openvino_ir", config).run(written, "model", print)["weights_bytes"]
