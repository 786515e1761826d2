"""The ONNX files of the strangers' repositories, which git does not keep: small networks with weights from a seed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

from checkout import ROOT
from tests.onnx_files import Tensor, write_onnx

REPOSITORIES = Path(__file__).parent / "repositories"
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
_VALUES = np.array([0, 0, 0, 0, 0, 0, 0, 0, -1, 2, 3, 1.5, -2, -2.5, -3], np.float32)  # of the words, "good" is 2


def copy_of(name: str, folder: Path) -> Path:
    """The repository ``name``, with its model files, as ``folder/NAME``."""
    source = ROOT / "examples" / "broken" if name == "sentiment" else REPOSITORIES / name
    copied = Path(shutil.copytree(source, folder / name))
    for config in copied.rglob("config.pbtxt"):  # git keeps no empty folders
        (config.parent / "1").mkdir(exist_ok=True)
    _NETWORKS[name](copied)
    return copied


def _sentiment(folder: Path) -> None:
    """Correct the three faults of examples/broken."""
    for file, fault, right in (
        ("labels/config.pbtxt", "FP32 dims: [ 3 ]", "FP32 dims: [ 2 ]"),
        ("sentiment/config.pbtxt", '"input_id"', '"input_ids"'),
        ("tokenizer/1/model.py", '"TEXTS"', '"TEXT"'),
    ):
        written = (folder / file).read_text()
        assert written.count(fault) == 1
        (folder / file).write_text(written.replace(fault, right))


def _photos(folder: Path) -> None:
    """The mean of each channel, as a probability."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["pixel_values"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["channels"]),
        helper.make_node("Softmax", ["channels"], ["probs"]),
    ]
    taken: list[Tensor] = [("pixel_values", FLOAT, ["batch", 3, 32, 32])]
    write_onnx(folder / "resnet" / "1" / "model.onnx", nodes, taken, ("probs", FLOAT, ["batch", 3]), {})


def _bls(folder: Path) -> None:
    """The sum of the words' values; of long texts, their mean."""
    for name, reduction in (("short", "ReduceSum"), ("long", "ReduceMean")):
        axes = {"axes": [1]} if reduction == "ReduceMean" else {}
        inputs = ["each"] if axes else ["each", "tokens"]
        nodes = [
            helper.make_node("Gather", ["values", "input_ids"], ["each"]),
            helper.make_node(reduction, inputs, ["logits"], keepdims=0, **axes),
        ]
        values = np.stack([-_VALUES, _VALUES], 1)
        weights = {"values": values} if axes else {"values": values, "tokens": [1]}
        taken: list[Tensor] = [("input_ids", INT64, ["texts", "tokens"])]
        file = folder / f"classifier_{name}" / "1" / "model.onnx"
        write_onnx(file, nodes, taken, ("logits", FLOAT, ["texts", 2]), weights)


def _linear(file: Path, taken: str, written: str, width: int, seed: int) -> None:
    nodes = [helper.make_node("MatMul", [taken, "weights"], ["sum"]), helper.make_node("Sigmoid", ["sum"], [written])]
    weights = {"weights": np.random.default_rng(seed).normal(size=(width, 1))}
    write_onnx(file, nodes, [(taken, FLOAT, ["N", width])], (written, FLOAT, ["N", 1]), weights)


def _branches(folder: Path) -> None:
    _linear(folder / "tree" / "1" / "model.onnx", "features", "score", 9, 1)
    _linear(folder / "tree" / "2" / "model.onnx", "features", "score", 9, 2)
    _linear(folder / "net" / "3" / "net.onnx", "features", "score", 9, 3)


def _churn(folder: Path) -> None:
    _linear(folder / "model_repository" / "xgb" / "1" / "model.onnx", "input", "probability", 4, 4)


_NETWORKS: dict[str, Callable[[Path], None]] = {
    "sentiment": _sentiment, "photos": _photos, "bls": _bls, "branches": _branches, "churn": _churn,
}  # fmt: skip
