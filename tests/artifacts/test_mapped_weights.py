"""Weights beside the graph, plain and prepacked: the same answers, the same bytes, and only where it pays."""

import json
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from tests.runtime.backends.networks import feed, images, noise, sentences
from tests.runtime.backends.test_onnxruntime import identity_of_text
from triton_ensembles.artifacts import Job, mapped_weights
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.runtime.backends.onnxruntime.weights_gate import GatedFiles

NETWORKS = {"sentences": sentences(), "images": images()}
LEVELS = {-1: "ENABLE_BASIC", 0: "ENABLE_ALL", 1: "ENABLE_EXTENDED", 2: "DISABLE_ALL"}
FILES = ["model.gate.json", "model.onnx", "model.prepacked.onnx", "model.weights"]


def make(content: bytes, folder: Path, level: int = 0) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "model.onnx"
        source.write_bytes(content)
        options = {"level": level, "onnxruntime": ort.__version__}
        return mapped_weights.make(Job(folder, {source.name: source}, source.name, options, "", ""))


def answer(model: bytes | Path, level: str, given: dict[str, np.ndarray]) -> np.ndarray:
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_{level}")
    options.intra_op_num_threads = 1
    (output,) = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, given)
    return output


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", NETWORKS)
def test_the_answers_are_those_of_the_model_bit_for_bit(tmp_path: Path, name: str, level: int) -> None:
    """Also of convolutions, whose weights are laid out for the processor only with all optimizations."""
    content = NETWORKS[name]
    make(content, tmp_path / "made", level)
    files = GatedFiles(tmp_path / "made" / "model.onnx")
    given = feed(content)
    expected = answer(content, LEVELS[level], given)
    np.testing.assert_array_equal(answer(files.prepacked, "DISABLE_ALL", given), expected)
    np.testing.assert_array_equal(answer(files.plain, LEVELS[level], given), expected)
    assert json.loads(files.gate.read_text())["level"] == level


def test_both_graphs_share_the_weights_that_are_not_packed(tmp_path: Path) -> None:
    """Otherwise the archive would hold every table twice."""
    make(NETWORKS["sentences"], tmp_path / "made")
    size = GatedFiles(tmp_path / "made" / "model.onnx").weights.stat().st_size
    matrices, table = 2 * 1200 * 1200 * 4, 120 * 1200 * 4
    assert matrices + table <= size <= 2 * matrices + table + 64 * 4096


def test_the_plain_graph_has_nothing_for_this_processor_only(tmp_path: Path) -> None:
    """Otherwise the way out on another processor would lead nowhere."""
    make(NETWORKS["images"], tmp_path / "made")
    files = GatedFiles(tmp_path / "made" / "model.onnx")
    plain, prepacked = (onnx.load(path, load_external_data=False) for path in (files.plain, files.prepacked))
    assert "com.microsoft.nchwc" not in {node.domain for node in plain.graph.node}
    entries = [entry.key for tensor in plain.graph.initializer for entry in tensor.external_data]
    assert set(entries) == {"location", "offset", "length"}
    assert {tensor.name for tensor in plain.graph.initializer} != {t.name for t in prepacked.graph.initializer}


@pytest.mark.parametrize("content", [identity_of_text(), noise()])
def test_a_model_whose_answers_cannot_be_compared_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    """Text is not a known input, and noise is not an answer. The build does not fail for them."""
    facts = make(content, tmp_path / "made")
    assert facts == {"weights": "in the graph: no input is known that the model answers with finite numbers"}
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["model.onnx"]
    assert (tmp_path / "made" / "model.onnx").read_bytes() == content


def test_the_known_input_is_valid_for_a_small_vocabulary(tmp_path: Path) -> None:
    """Ids beyond it are refused by the model, so that nothing would be known."""
    make(sentences(vocabulary=3), tmp_path / "made")
    known = json.loads((tmp_path / "made" / "model.gate.json").read_text())["inputs"]["IDS"]
    assert known["most"] <= 3


def test_what_is_not_a_model_is_refused(tmp_path: Path) -> None:
    model = onnx.load_from_string(sentences())
    model.graph.node[0].op_type = "NoSuchOperator"
    with pytest.raises(EnsembleError, match=r"ONNX Runtime \S+ cannot load model.onnx: .*NoSuchOperator"):
        make(model.SerializeToString(), tmp_path / "made")
