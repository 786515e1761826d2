"""The accuracy check of precisions below fp32, with real models and their real outputs."""

from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from onnx import TensorProto, helper

from tests.recipes import copy_recipe
from tests.runtime.backends.networks import model_of
from triton_ensembles.artifacts import Job, accuracy_on_photographs
from triton_ensembles.artifacts.accuracy import LEAST, LEAST_COSINE, Least, compared
from triton_ensembles.artifacts.accuracy_on_photographs import classes_kept
from triton_ensembles.artifacts.accuracy_on_sentences import neighbours_kept
from triton_ensembles.building.made.artifact_builder import ArtifactBuilder
from triton_ensembles.building.made.sources import Sources
from triton_ensembles.building.made.store import Store
from triton_ensembles.building.planned.model_selection import select_models
from triton_ensembles.building.planned.plan import BuildPlan
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.project.recipe.reader import read_recipe
from triton_ensembles.project.recipe.schema import Recipe
from triton_ensembles.triton.model_config import ModelConfig
from triton_ensembles.triton.targets import CPU

needs_bf16 = pytest.mark.skipif(
    "BF16" not in ov.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"), reason="this CPU has no bf16"
)


def test_answers_that_are_not_numbers_fail() -> None:
    vectors = np.ones((2, 3), np.float32)
    with pytest.raises(EnsembleError, match="is nan"):
        compared(vectors * np.array([[1], [np.nan]], np.float32), vectors, {}, LEAST["bf16"])


def test_neighbours_that_change_places_with_others_are_counted() -> None:
    """Otherwise a search engine would find other documents in int8, with cosines that look fine."""
    vectors = np.random.default_rng(0).standard_normal((40, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert neighbours_kept(vectors, vectors) == 1.0
    assert neighbours_kept(vectors[::-1], vectors) < 0.6
    assert neighbours_kept(vectors[:1], vectors[:1]) == 1.0
    reason = r"nearest neighbours or first classes of fp32 that stay is 0\.9.*leave_out"
    with pytest.raises(EnsembleError, match=reason):
        LEAST["int8"].check({"neighbours_kept": 0.9})
    with pytest.raises(EnsembleError, match=r"the lowest cosine to fp32 is 0\.99.*, and at least 0\.999 is required"):
        Least.of({"precision": "int8", "least_cosine": 0.999}).check({"least_cosine_to_fp32": 0.99})


def test_another_class_counts_unless_fp32_has_a_tie() -> None:
    fp32 = np.array([[0.5, 0.3, 0.2], [0.4, 0.39, 0.21]], np.float32)
    assert classes_kept(fp32, fp32) == 1
    assert classes_kept(fp32 + np.array([[0, 0, 0], [0, 0.02, 0]], np.float32), fp32) == 1
    assert classes_kept(fp32[:, [1, 0, 2]], fp32) == 0.5


def encoder(offset: float) -> bytes:
    """token_ids, attn_mask [batch, tokens] -> output [batch, tokens, 8]: an embedding, plus and minus an offset. fp32
    has enough digits for a large one, bf16 does not."""
    table = np.random.default_rng(0).standard_normal((30522, 8)).astype(np.float32)
    square = np.eye(8, dtype=np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "token_ids"], ["rows"]),
        helper.make_node("Add", ["rows", "offset"], ["far"]),
        helper.make_node("MatMul", ["far", "square"], ["same"]),  # matrix products are what bf16 is used for
        helper.make_node("Sub", ["same", "offset"], ["near"]),
        helper.make_node("Cast", ["attn_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
        helper.make_node("Mul", ["near", "column"], ["output"]),
    ]
    shape = ["batch", "tokens"]
    given = [helper.make_tensor_value_info(name, TensorProto.INT32, shape) for name in ("token_ids", "attn_mask")]
    answer = helper.make_tensor_value_info("output", TensorProto.FLOAT, [*shape, 8])
    weights = {"table": table, "square": square, "offset": np.array(offset), "last": np.array([2])}
    return model_of(nodes, given, [answer], weights)


_IN_BF16 = """accuracy = "sentences"
[engines.step]
backend = "openvino"
precision = "bf16"
"""


def recipe_for(folder: Path, offset: float, minilm: Path) -> Recipe:
    """A recipe with the encoder above as a step in bf16; its files are in ``folder``."""
    (folder / "model.onnx").write_bytes(encoder(offset))
    (folder / "tokenizer.json").write_bytes((minilm / "tokenizer.json").read_bytes())
    files = {name: file_digest(folder / name) for name in ("model.onnx", "tokenizer.json")}
    (folder / RECIPE).write_text(copy_recipe("step/1/model.onnx", _IN_BF16, files=files))
    return read_recipe(folder)


def make(folder: Path, recipe: Recipe) -> tuple[dict[str, object], list[str]]:
    said: list[str] = []
    selected = select_models(recipe, {"step": ModelConfig()}, CPU)
    plan = BuildPlan(folder, folder, CPU, recipe, selected, recipe.artifacts, {})
    store, sources = Store(folder / "store"), Sources(folder, folder / "c")
    builder = ArtifactBuilder(plan, store, sources, said.append, allow_random=False)
    return builder.make(recipe.artifacts[0]).record, said


@needs_bf16
def test_a_model_that_bf16_spoils_fails_the_build(tmp_path: Path, minilm: Path) -> None:
    """Otherwise one word in a recipe could spoil all answers."""
    recipe = recipe_for(tmp_path, 300.0, minilm)
    words = 'step/1/model.onnx in bf16: sentences failed: the lowest cosine to fp32 is .* write precision = "fp32"'
    with pytest.raises(EnsembleError, match=words):
        make(tmp_path, recipe)


@needs_bf16
def test_a_model_that_bf16_suits_is_measured_once_and_recorded(tmp_path: Path, minilm: Path) -> None:
    """Otherwise nobody could read how accurate an archive is, or every build would measure again."""
    recipe = recipe_for(tmp_path, 0.0, minilm)
    record, said = make(tmp_path, recipe)
    accuracy = record["accuracy"]
    assert isinstance(accuracy, dict)
    assert LEAST_COSINE <= accuracy["least_cosine_to_fp32"] <= 1
    assert accuracy["precision"] == "bf16" and accuracy["sentences"] > 50
    assert any(f"least_cosine_to_fp32 {accuracy['least_cosine_to_fp32']}" in line for line in said)
    (entry,) = (tmp_path / "store").rglob("accuracy.json")
    before = entry.stat().st_mtime_ns
    assert make(tmp_path, recipe)[0] == record
    assert entry.stat().st_mtime_ns == before


@needs_bf16
def test_inception_in_bf16_passes(inception_graph: Path, tmp_path: Path) -> None:
    """Otherwise dali_inception could not use bf16."""
    name = inception_graph.name
    job = Job(tmp_path / "facts", {name: inception_graph}, name, {"precision": "bf16"}, "cpu", "")
    facts = accuracy_on_photographs.make(job)
    assert float(facts["least_cosine_to_fp32"]) >= LEAST_COSINE
