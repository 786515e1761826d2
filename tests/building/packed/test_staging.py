"""Planning and staging: unique names, the differences of the target, and every file in its place."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from checkout import ENSEMBLES
from tests.files import write_files
from triton_ensembles.building.made.environments import MadeEnvironment
from triton_ensembles.building.packed.staging import stage
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.checking.checker import check
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.triton.model_config import ModelInstanceGroup, read_config
from triton_ensembles.triton.pip_server import STUB
from triton_ensembles.triton.releases import releases
from triton_ensembles.triton.targets import CPU, Target


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of bert_trt that a test may change."""
    return Path(shutil.copytree(ENSEMBLES / "bert_trt", tmp_path / "ensembles" / "bert_trt"))


def staged(folder: Path, *, stub: Path | None = None, target: Target = CPU) -> Path:
    """The repository of the ensemble in ``folder``, with stand-ins for the made files."""
    made, plan = folder.parents[1] / "made", plan_build(folder, target)
    artifacts = {artifact.path: made / artifact.path for artifact in plan.artifacts}
    write_files(made, {path: path for path in artifacts})
    (wanted,) = plan.recipe.environments.values()
    packed = write_files(made / "environment", {"bin/activate": "export PATH"})
    destination = folder.parents[1] / "staged"
    environments = {"processing": MadeEnvironment(packed, wanted.steps, stub, {})}
    stage(plan, destination, artifacts=artifacts, environments=environments)
    return destination


def test_step_names_get_the_name_of_the_ensemble_in_folder_config_and_dag(folder: Path) -> None:
    """Otherwise steps of the same name in two archives of one endpoint reload each other."""
    repository = staged(folder.rename(folder.with_name("tenant_0007")))
    folders = {path.name for path in repository.iterdir() if path.is_dir()}
    steps = {"tenant_0007.preprocess", "tenant_0007.bert-trt", "tenant_0007.postprocess"}
    assert folders == {"tenant_0007"} | steps
    for name in folders:
        assert read_config(repository / name / "config.pbtxt").name == name
    ensemble = read_config(repository / "tenant_0007" / "config.pbtxt")
    assert {step.model_name for step in ensemble.ensemble_scheduling.step} == steps


def test_comments_that_accept_faults_come_along(folder: Path) -> None:
    """Otherwise the build refuses in the archive what the config accepts, or a deployment does."""
    config = folder / "preprocess" / "config.pbtxt"
    policy = "version_policy { specific { versions: [ 1, 2 ] } }  # check: ignore[version-missing] next week"
    config.write_text(f"{config.read_text()}\n{policy}\n")
    report = check([staged(folder)])
    assert [each.reason for each in report.accepted] == ["next week"]
    assert not {"version-missing", "suppression-unused"} & {fault.rule for fault in report.faults}


@pytest.mark.parametrize(
    ("engine", "backend", "file", "hint", "instances"),
    [
        ("", "onnxruntime", "model.onnx", "", 1),
        ('backend = "onnxruntime"', "onnxruntime", "model.onnx", "", 1),
        ('precision = "fp32"', "onnxruntime", "model.onnx", "", 1),
        ('backend = "openvino"', "openvino", "model.xml", "", 1),  # the build converts what OpenVINO runs to its format
        ('precision = "bf16"\ninstances = 3', "openvino", "model.xml", "YES", 3),
        ('precision = "int8"', "openvino", "model.int8.xml", "", 1),
    ],
)
def test_the_recipe_selects_the_engine(
    folder: Path, engine: str, backend: str, file: str, hint: str, instances: int
) -> None:
    """Otherwise a precision or an engine in the recipe would have no effect on what is served."""
    table = f"[engines.bert-trt]\n{engine}\n\n" if engine else ""
    recipe = (folder / RECIPE).read_text()
    (folder / RECIPE).write_text(re.sub(r"\[engines\.bert-trt\]\n(.+\n)+\n", lambda _: table, recipe))
    config = read_config(staged(folder) / "bert_trt.bert-trt" / "config.pbtxt")
    platform = "onnxruntime_onnx" if backend == "onnxruntime" else ""
    assert (config.backend, config.platform, config.default_model_filename) == (backend, platform, file)
    assert (config.parameters["HINT_BF16"].string_value if "HINT_BF16" in config.parameters else "") == hint
    assert all(tensor.allow_ragged_batch for tensor in config.input)
    assert [(group.kind, group.count) for group in config.instance_group] == [(ModelInstanceGroup.KIND_CPU, instances)]


def test_an_image_that_takes_no_folder_is_refused(folder: Path) -> None:
    """Otherwise it does not load the ensemble."""
    target = replace(CPU, release=releases()["23.06"])
    with pytest.raises(EnsembleError, match="takes no environment as a folder, and processing is one; build for an"):
        plan_build(folder, target)
    recipe = (folder / RECIPE).read_text()
    heading = "[environments.processing]"
    (folder / RECIPE).write_text(recipe.replace(heading, f'{heading}\nkind = "wheels"'))
    assert plan_build(folder, target).recipe.environments["processing"].kind == "wheels"


def test_a_second_environment_of_a_step_is_refused(folder: Path) -> None:
    with (folder / RECIPE).open("a") as recipe:
        recipe.write('[environments.x]\nfile = "x.yml"\nsteps = ["postprocess"]')
    with pytest.raises(EnsembleError, match="'postprocess' has two environments: processing"):
        plan_build(folder, CPU)


def test_an_environment_with_another_python_brings_its_stub(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "stub").write_text("the stub of Python 3.10")
    owners = {path.parent.name for path in staged(folder, stub=tmp_path / "stub").rglob(STUB)}
    assert owners == {"bert_trt.preprocess", "bert_trt.postprocess"}


def test_the_recipe_can_lower_the_token_limit(folder: Path) -> None:
    (folder / RECIPE).write_text((folder / RECIPE).read_text() + '[parameters.preprocess]\nmax_tokens = "128"\n')
    config = read_config(staged(folder) / "bert_trt.preprocess" / "config.pbtxt")
    assert config.parameters["max_tokens"].string_value == "128"


def test_the_version_folder_of_an_ensemble_need_not_be_in_git(folder: Path) -> None:
    """Otherwise the `mkdir -p ensemble/1` of every tutorial is lost by git, and Triton refuses the ensemble."""
    assert not (folder / "ensemble" / "1").exists()
    repository = staged(folder)
    assert list((repository / "bert_trt" / "1").iterdir()) == []
    model = repository / "bert_trt.preprocess" / "1" / "model.py"
    assert model.stat().st_nlink == 1, "an editor that saves in place would change what is being served"
    weights = repository / "bert_trt.bert-trt" / "1" / "model.onnx"
    assert weights.stat().st_nlink == 2, "what is made is large: it is linked, and not copied"
    # A version that people made is there, and no other one is made for them.
    (folder / "ensemble" / "3").mkdir()
    (folder / "ensemble" / "__pycache__").mkdir()
    shutil.rmtree(repository)
    assert {path.name for path in (staged(folder) / "bert_trt").iterdir()} == {"config.pbtxt", "3"}
