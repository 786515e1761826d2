"""The model's folder as the peers need it: the files that the build downloaded, and ONNX with the hub's names."""

import json
import os
import warnings
from pathlib import Path

from benchmarks.peers.venv import PEERS
from checkout import PLACES
from triton_ensembles.building.made.sources import Sources
from triton_ensembles.ground.files import write_whole
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.project.recipe.reader import read_recipe

_SETTINGS: dict[str, object] = {
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
    ],
    "1_Pooling/config.json": {
        "word_embedding_dimension": 384,
        "pooling_mode_mean_tokens": True,
        "pooling_mode_cls_token": False,
    },
    "tokenizer_config.json": {"tokenizer_class": "BertTokenizerFast", "do_lower_case": True, "model_max_length": 256},
}
"""Files that sentence-transformers reads beside the weights, and the recipe does not need."""


def peers_model(progress: Progress) -> Path:
    """A folder with the weights of bert_trt, as the hub has them. Raises :class:`EnsembleError` as downloads do."""
    bert = PLACES.ensembles / "bert_trt"
    sources = Sources(None, PLACES.downloads)
    files = sources.files("minilm", read_recipe(bert).sources["minilm"], bert / RECIPE, PLACES.root, progress)
    folder = PEERS / "model"
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in files.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(path)
    (folder / "1_Pooling").mkdir(exist_ok=True)
    for name, value in _SETTINGS.items():
        (folder / name).write_text(json.dumps(value))
    (folder / "2_Normalize").mkdir(exist_ok=True)
    if not (folder / "model.onnx").exists():
        progress("exporting model.onnx for the peers")
        with write_whole(folder / "model.onnx") as partial:
            _export(folder, partial)
    return folder


def _export(folder: Path, output: Path) -> None:
    """Inputs and output as in the hub's own ONNX files: INT64 [batch, tokens] three times -> last_hidden_state."""
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
            hidden: torch.Tensor = self.model(
                input_ids=ids, attention_mask=mask, token_type_ids=types
            ).last_hidden_state
            return hidden

    ids = torch.randint(0, model.config.vocab_size, (2, 9))
    names = ["input_ids", "attention_mask", "token_type_ids"]
    dynamic = {0: "batch_size", 1: "sequence_length"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Encoder().eval(),
            (ids, torch.ones_like(ids), torch.zeros_like(ids)),
            os.fspath(output),
            input_names=names,
            output_names=["last_hidden_state"],
            dynamic_axes=dict.fromkeys((*names, "last_hidden_state"), dynamic),
            opset_version=17,
            dynamo=False,
        )
