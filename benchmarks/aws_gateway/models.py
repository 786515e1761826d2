"""The reference's model repository: the same networks as the ensembles', as plain ONNX models, and its program's files.

The ONNX files of resnet and yolov5 are those that the ensembles' engines are made from. That of bert_base has the same
weights, with the inputs and the output of the example's: the logits of every token.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ensembles.bert_base.make_model import DYNAMIC, fill
from triton_ensembles.artifacts.onnx_export import export
from triton_ensembles.building.artifact_builder import ArtifactBuilder
from triton_ensembles.building.places import Places
from triton_ensembles.building.plan import plan_build
from triton_ensembles.building.sources import Sources, SourceUnavailableError
from triton_ensembles.building.store import Store
from triton_ensembles.files import digest, file_digest
from triton_ensembles.progress import Progress
from triton_ensembles.triton.targets import CPU

if TYPE_CHECKING:
    from transformers import BertForMaskedLM

_CONFIGS = {
    "resnet": """
platform: "onnxruntime_onnx" max_batch_size: 128
input { name: "input" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] }
output { name: "output" data_type: TYPE_FP32 dims: [ 1000 ] }
dynamic_batching { preferred_batch_size: 128 }
""",
    "yolov5s": """
platform: "onnxruntime_onnx"
input { name: "images" data_type: TYPE_FP32 dims: [ 1, 3, 640, 640 ] }
output { name: "output" data_type: TYPE_FP32 dims: [ 1, -1, 85 ] }
""",
    "bert_base": """
platform: "onnxruntime_onnx"
input { name: "input_ids" data_type: TYPE_INT64 dims: [ -1, -1 ] }
input { name: "token_type_ids" data_type: TYPE_INT64 dims: [ -1, -1 ] }
input { name: "attention_mask" data_type: TYPE_INT64 dims: [ -1, -1 ] }
output { name: "output" data_type: TYPE_FP32 dims: [ -1, -1, 30522 ] }
""",
}
_GROUP = "instance_group { count: 1 kind: KIND_CPU }\n"


def write_models(folder: Path, places: Places, progress: Progress) -> None:
    """``models/``, a model repository, and ``files/``, labels and tokenizer, in the new ``folder``.

    Raises:
        EnsembleError: a model cannot be made.
    """
    resnet, yolov5, bert = (_builder(name, places, progress) for name in ("resnet", "yolov5", "bert_base"))
    made = {
        "models/resnet/1/model.onnx": _made(resnet, "resnet50/2/model.onnx"),
        "models/yolov5s/1/model.onnx": _made(yolov5, "detector/1/model.onnx"),
        "models/bert_base/1/model.onnx": _all_logits(bert),
        "files/resnet.txt": _made(resnet, "postprocess/1/imagenet_classes.txt"),
        "files/yolov5.txt": _made(yolov5, "postprocess/1/labels.txt"),
        "files/tokenizer/vocab.txt": _made(bert, "preprocess/1/vocab.txt"),
    }
    for name, path in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(path.resolve())
    for name, config in _CONFIGS.items():
        (folder / "models" / name / "config.pbtxt").write_text(f'name: "{name}"{config}{_GROUP}')


def _builder(ensemble: str, places: Places, progress: Progress) -> ArtifactBuilder:
    plan = plan_build(places.ensembles / ensemble, CPU)
    return ArtifactBuilder(plan, Store(places.store), Sources(None, places.downloads), progress, allow_random=True)


def _made(builder: ArtifactBuilder, path: str) -> Path:
    return builder.make(builder.plan.recipe.artifact(path)).path


def _all_logits(builder: ArtifactBuilder) -> Path:
    """BERT as the example has it: INT64 [batch, tokens] three times -> FP32 [batch, tokens, vocabulary]."""
    artifact = builder.plan.recipe.artifact("bert/1/model.onnx")
    try:
        inputs = builder.inputs_of(artifact)
        files, options = inputs.files, {}
    except SourceUnavailableError:
        assert artifact.random is not None
        files, options = {}, artifact.random.options

    def make(output: Path) -> dict[str, str]:
        builder.progress("exporting bert_base with all its logits for the reference")
        _export(_pretrained(files) if files else _random(options), output)
        return {}

    weights = {name: file_digest(path) for name, path in files.items()}
    origin = digest([weights, dict(options), file_digest(Path(__file__))])
    return builder.store.get_or_make(origin, "model.onnx", make)[0].path


def _pretrained(files: Mapping[str, Path]) -> BertForMaskedLM:
    import torch
    from transformers import BertForMaskedLM

    with tempfile.TemporaryDirectory() as scratch:
        for name, path in files.items():
            shutil.copyfile(path, Path(scratch) / name)
        return BertForMaskedLM.from_pretrained(scratch, attn_implementation="eager", dtype=torch.float32)


def _random(options: Mapping[str, object]) -> BertForMaskedLM:
    """The very weights that the ensemble gets offline."""
    from transformers import BertConfig, BertForMaskedLM

    layers = int(str(options.get("layers", 12)))
    model = BertForMaskedLM(BertConfig(num_hidden_layers=layers, attn_implementation="eager"))
    fill(model, int(str(options["seed"])))
    return model


def _export(model: BertForMaskedLM, output: Path) -> None:
    import torch

    class AllLogits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: torch.Tensor, types: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            logits: torch.Tensor = self.model(input_ids=ids, token_type_ids=types, attention_mask=mask).logits
            return logits

    ids = torch.randint(0, model.config.vocab_size, (2, 9))
    example = {"input_ids": ids, "token_type_ids": torch.zeros_like(ids), "attention_mask": torch.ones_like(ids)}
    export(AllLogits(), output, example, "output", dict.fromkeys((*example, "output"), DYNAMIC))
