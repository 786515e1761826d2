"""Plans: built by their scripts, judged by their outputs. trtexec is a stand-in."""

import json
import shutil
from pathlib import Path

import pytest

from checkout import ROOT
from tests.artifacts.tensorrt.conftest import IMAGE, with_tensorrt
from tests.commands.projects import run
from triton_ensembles.building.build import build
from triton_ensembles.building.made.artifact_builder import ArtifactBuilder, MadeArtifact
from triton_ensembles.building.made.sources import Sources
from triton_ensembles.building.made.store import Store
from triton_ensembles.building.made.tensorrt_plans import find_plans
from triton_ensembles.building.places import Places, Weights
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.building.request import BuildRequest
from triton_ensembles.checking.checker import check
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.reader import read_recipe
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.targets import Target, gpu

pytestmark = pytest.mark.slow


def make(places: Places, target: Target, engines_from: Path | None = None) -> MadeArtifact:
    """The plan of bert_trt alone, as a build makes it. Its inputs are in the project's own store."""
    build_plan = plan_build(places.ensembles / "bert_trt", target)
    (plan,) = (artifact for artifact in build_plan.artifacts if artifact.maker == "tensorrt_plan")
    plans = find_plans("bert_trt", [plan], target, engines_from)
    sources = Sources(None, places.downloads)
    return ArtifactBuilder(build_plan, Store(places.store), sources, print, allow_random=False, plans=plans).make(plan)


def test_without_its_plans_a_build_says_at_once_how_they_are_made(mine: Places, target: Target) -> None:
    """Otherwise the refusal would come after minutes of packing and exporting."""
    said: list[str] = []
    with pytest.raises(EnsembleError) as caught:
        build(BuildRequest(mine.ensembles / "bert_trt", target, mine, Weights("pretrained")), said.append)
    message = str(caught.value)
    for words in (
        "bert-trt/1/model.plan of bert_trt is a TensorRT plan, which the GPU that will serve it has to build first",
        f"engines bert_trt --image {IMAGE} --output DIR",
        "--engines-from DIR",
    ):
        assert words in message
    assert said == []
    assert not mine.dist.exists()


def test_a_plan_with_different_outputs_fails_the_build(mine: Places, engines: Path, target: Target) -> None:
    """Otherwise a precision that spoils the vectors would reach an endpoint."""
    for output in engines.glob("bert_trt.bert-trt.output*.json"):
        tensors = json.loads(output.read_text())
        output.unlink()  # a link to the file of all tests
        spoiled = [tensor | {"values": [abs(value) for value in tensor["values"]]} for tensor in tensors]
        output.write_text(json.dumps(spoiled))
    with pytest.raises(EnsembleError, match=r"tensorrt_plan failed: the lowest cosine to fp32 is -?0\.\d+"):
        make(mine, target, engines)


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ("plan", "this plan does not exist"),
        ("log", "so the plan's GPU and TensorRT are unknown"),
        ("output1.json", "the outputs of bert_trt.bert-trt.plan cannot be read"),
        ("request.json", "the outputs of bert_trt.bert-trt.plan cannot be read"),
    ],
)
def test_an_incomplete_folder_is_refused(mine: Places, engines: Path, target: Target, lost: str, words: str) -> None:
    (engines / f"bert_trt.bert-trt.{lost}").unlink()
    with pytest.raises(EnsembleError, match=words):
        make(mine, target, engines)


def test_one_for_another_tensorrt_or_gpu_is_refused_by_name(mine: Places, engines: Path, target: Target) -> None:
    with pytest.raises(EnsembleError, match=rf"built with TensorRT 10\.5\.0, and Triton {IMAGE} has 10\.6\.0\.26"):
        make(mine, with_tensorrt(target, "10.6.0.26"), engines)
    other = with_tensorrt(gpu(IMAGE, "ml.g4dn.xlarge"), "")
    with pytest.raises(EnsembleError, match=r"bert-trt\.plan: this plan was built on a NVIDIA A10G of .* has a T4"):
        make(mine, other, engines)


def test_a_plan_that_the_recipe_no_longer_asks_for_is_refused(mine: Places, engines: Path, target: Target) -> None:
    """Otherwise config.pbtxt names profiles that the plan lacks, and SageMaker reports it only after the upload."""
    request = engines / "bert_trt.bert-trt.request.json"
    text = request.read_text().replace("64x32 64x256", "32x32 32x256")
    request.unlink()
    request.write_text(text)
    with pytest.raises(EnsembleError, match=r"is fp16 with .* 32x32 32x256, and the recipe has .* 64x32 64x256"):
        make(mine, target, engines)


def test_profiles_that_end_below_the_largest_batch_are_refused(target: Target, tmp_path: Path) -> None:
    for shared in ("ensembles/bert_trt", "envs", "pipelines"):
        shutil.copytree(ROOT / shared, tmp_path / shared)
    recipe = tmp_path / "ensembles" / "bert_trt" / "ensemble.toml"
    recipe.write_text(recipe.read_text().replace("64x32 64x256", "32x32 32x256"))
    with pytest.raises(EnsembleError, match="is 32, and max_batch_size is 64"):
        plan_build(recipe.parent, target)


def test_fp16_is_refused_where_tensorrt_no_longer_has_it(mine: Places, target: Target) -> None:
    recipe = read_recipe(mine.ensembles / "bert_trt")
    with pytest.raises(EnsembleError, match=r"has precision fp16, but TensorRT 11\.1\.0\.106"):
        find_plans("bert_trt", recipe.artifacts, with_tensorrt(target, "11.1.0.106"), None)
    result = run("engines", "bert_trt", "--image", "26.07", "--output", mine.build / "engines")
    assert result.exit_code == 1 and "has precision fp16" in result.output
    checked = check([mine.ensembles / "bert_trt"], Destination("gpu", image="26.07"))
    assert [fault.rule for fault in checked.faults if "has precision fp16" in fault.message] == ["recipe-maker-options"]
    assert not check([mine.ensembles / "bert_trt"], Destination("gpu", image="26.05")).errors
    assert not (mine.build / "engines").exists()
