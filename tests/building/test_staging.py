"""From what people write to what Triton loads: unique names, the target's differences, files in their places."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from triton_ensembles.building.model_selection import artifacts_for, choose_models
from triton_ensembles.building.recipe import Engine, Recipe, read_recipe
from triton_ensembles.building.staging import StagedEnvironment, read_models, stage
from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import ENSEMBLES
from triton_ensembles.triton.model_config import ModelInstanceGroup, read_config
from triton_ensembles.triton.targets import CPU

FOLDER = ENSEMBLES / "bert_trt"


def staged(tmp_path: Path, recipe: Recipe, *, stub: Path | None = None, name: str = "bert_trt") -> Path:
    made = tmp_path / "made"
    made.mkdir(exist_ok=True)
    artifacts = {}
    for artifact in artifacts_for(recipe, choose_models(recipe, read_models(FOLDER), CPU)):
        artifacts[artifact.path] = made / artifact.name
        artifacts[artifact.path].write_text(artifact.path)
    (made / "env.tar.gz").write_text("packed")
    environment = StagedEnvironment(made / "env.tar.gz", stub)
    destination = tmp_path / "staged"
    stage(
        FOLDER,
        destination,
        name=name,
        recipe=recipe,
        target=CPU,
        artifacts=artifacts,
        environments={"processing": environment},
    )
    return destination


def test_step_names_get_the_ensembles_name_in_folder_config_and_dag(tmp_path: Path) -> None:
    """Same-named steps in two archives of one endpoint reload each other; a thousand clones differ by this name."""
    repository = staged(tmp_path, read_recipe(FOLDER), name="tenant_0007")
    folders = {path.name for path in repository.iterdir() if path.is_dir()}
    steps = {"tenant_0007.preprocess", "tenant_0007.bert-trt", "tenant_0007.postprocess"}
    assert folders == {"tenant_0007"} | steps
    for folder in folders:
        assert read_config(repository / folder / "config.pbtxt").name == folder
    ensemble = read_config(repository / "tenant_0007" / "config.pbtxt")
    assert {step.model_name for step in ensemble.ensemble_scheduling.step} == steps


def test_the_cpu_target_needs_no_gpu(tmp_path: Path) -> None:
    repository = staged(tmp_path, read_recipe(FOLDER))
    config = read_config(repository / "bert_trt.bert-trt" / "config.pbtxt")
    assert [(group.kind, group.count) for group in config.instance_group] == [(ModelInstanceGroup.KIND_CPU, 2)]
    assert (repository / "bert_trt.bert-trt" / "1" / "model.onnx").read_text() == "bert-trt/1/model.onnx"


@pytest.mark.parametrize(
    ("engine", "backend", "platform", "hint"),
    [
        (None, "onnxruntime", "onnxruntime_onnx", ""),
        (Engine(backend="onnxruntime"), "onnxruntime", "onnxruntime_onnx", ""),
        (Engine(backend="openvino"), "openvino", "", ""),
        (Engine(backend="openvino", precision="bf16", instances=3), "openvino", "", "YES"),
    ],
)
def test_the_recipe_chooses_the_engine(
    tmp_path: Path, engine: Engine | None, backend: str, platform: str, hint: str
) -> None:
    """Otherwise a precision or an engine in the recipe would have no effect on what is served."""
    recipe = read_recipe(FOLDER).model_copy(update={"engines": {"bert-trt": engine} if engine else {}})
    config = read_config(staged(tmp_path, recipe) / "bert_trt.bert-trt" / "config.pbtxt")
    assert (config.backend, config.platform) == (backend, platform)
    assert config.default_model_filename == "model.onnx"
    assert (config.parameters["HINT_BF16"].string_value if "HINT_BF16" in config.parameters else "") == hint
    assert all(tensor.allow_ragged_batch for tensor in config.input)
    assert [group.count for group in config.instance_group] == [engine.instances if engine else 1]


def test_python_steps_share_the_one_packed_environment(tmp_path: Path) -> None:
    repository = staged(tmp_path, read_recipe(FOLDER))
    for step in ("preprocess", "postprocess"):
        config = read_config(repository / f"bert_trt.{step}" / "config.pbtxt")
        path = config.parameters["EXECUTION_ENV_PATH"].string_value
        assert path == "$$TRITON_MODEL_DIRECTORY/../processing_env.tar.gz"
    assert [path.name for path in repository.rglob("*.tar.gz")] == ["processing_env.tar.gz"]
    assert not list(repository.rglob("triton_python_backend_stub"))


def test_an_environment_with_another_python_brings_its_stub(tmp_path: Path) -> None:
    stub = tmp_path / "stub"
    stub.write_text("the stub of Python 3.10")
    repository = staged(tmp_path, read_recipe(FOLDER), stub=stub)
    owners = {path.parent.name for path in repository.rglob("triton_python_backend_stub")}
    assert owners == {"bert_trt.preprocess", "bert_trt.postprocess"}


def test_the_recipe_can_lower_the_token_limit(tmp_path: Path) -> None:
    recipe = read_recipe(FOLDER).model_copy(update={"parameters": {"preprocess": {"max_tokens": "128"}}})
    config = read_config(staged(tmp_path, recipe) / "bert_trt.preprocess" / "config.pbtxt")
    assert config.parameters["max_tokens"].string_value == "128"


def test_a_step_that_does_not_exist_is_named(tmp_path: Path) -> None:
    recipe = read_recipe(FOLDER).model_copy(update={"parameters": {"preproces": {"max_tokens": "128"}}})
    with pytest.raises(EnsembleError, match=r"ensemble.toml: the recipe names the step 'preproces'; .*preprocess"):
        staged(tmp_path, recipe)


def test_what_people_wrote_is_copied_not_linked(tmp_path: Path) -> None:
    """An editor that saves in place must not change what is being served."""
    repository = staged(tmp_path, read_recipe(FOLDER))
    assert (repository / "bert_trt.preprocess" / "1" / "model.py").stat().st_nlink == 1


def test_two_ensembles_in_one_folder_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "two"
    shutil.copytree(FOLDER, folder)
    shutil.copytree(FOLDER / "ensemble", folder / "other")
    with pytest.raises(EnsembleError, match=r"exactly one model must have platform: \"ensemble\", found 2"):
        stage(
            folder,
            tmp_path / "staged",
            name="two",
            recipe=read_recipe(FOLDER),
            target=CPU,
            artifacts={},
            environments={},
        )
