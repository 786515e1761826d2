"""Targets differ in what the table of releases says; clients see the same tensors on all of them."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import botocore.session
import pytest
from click.testing import CliRunner

from checkout import ENSEMBLES
from tests.checking.served import ModelLoader
from triton_ensembles.building.packed.staging import stage
from triton_ensembles.building.planned.model_selection import select_models
from triton_ensembles.building.planned.plan import plan_build, read_models
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.fault import Severity
from triton_ensembles.commands.cli import main
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.places import find_ensembles
from triton_ensembles.project.recipe.reader import read_recipe
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.model_config import ModelConfig, ModelInstanceGroup
from triton_ensembles.triton.releases import instance_of, releases
from triton_ensembles.triton.targets import CPU, Target, gpu, target_of

ALL = [folder.name for folder in find_ensembles(ENSEMBLES)]
# With TensorFlow and Python 3.10; the first without TensorFlow; the newest that SageMaker is known to have.
IMAGES = ("24.09", "25.03", "25.04")


def configs_of(name: str, target: Target) -> Mapping[str, ModelConfig]:
    return plan_build(ENSEMBLES / name, target).configs


def staged_files(name: str, target: Target) -> set[str]:
    return {artifact.path for artifact in plan_build(ENSEMBLES / name, target).artifacts if artifact.is_model}


def inputs_of(config: ModelConfig) -> list[tuple[object, ...]]:
    return [(tensor.name, tensor.data_type, tensor.dims) for tensor in config.input]


@pytest.mark.parametrize("name", ALL)
def test_clients_see_the_same_tensors_on_every_target(name: str) -> None:
    """Otherwise a rehearsal on this machine says nothing about SageMaker."""
    here = configs_of(name, CPU)
    for image in IMAGES:
        there = configs_of(name, gpu(image))
        for field in ("input", "output", "max_batch_size"):
            assert getattr(there["ensemble"], field) == getattr(here["ensemble"], field), image
        assert {step: inputs_of(there[step]) for step in there} == {step: inputs_of(here[step]) for step in there}


def test_each_target_gets_the_files_that_its_backends_load() -> None:
    """Otherwise an image without TensorFlow refuses the GraphDef fifteen minutes after the upload."""
    assert staged_files("bert_trt", CPU) == {"bert-trt/1/model.onnx"}
    assert staged_files("bert_trt", gpu("24.09")) == {"bert-trt/1/model.plan"}
    graphdef, onnx = "inception_graphdef/1/model.graphdef", "inception_graphdef/1/model.onnx"
    assert staged_files("dali_inception", CPU) == {"dali/1/model.dali", graphdef}
    assert staged_files("dali_inception", gpu("25.02")) == {"dali/1/model.dali", graphdef}
    assert staged_files("dali_inception", gpu("25.03")) == {"dali/1/model.dali", onnx}


def test_a_gpu_config_leaves_the_gpu_to_sagemaker_and_is_warmed_up() -> None:
    config = configs_of("dali_inception", gpu("25.04"))["inception_graphdef"]
    assert (config.platform, config.default_model_filename) == ("onnxruntime_onnx", "model.onnx")
    assert [(group.kind, list(group.gpus)) for group in config.instance_group] == [(ModelInstanceGroup.KIND_GPU, [])]
    assert [request.batch_size for request in config.model_warmup] == [1, 32]
    assert list(config.dynamic_batching.preferred_batch_size) == [32]


def test_a_step_that_no_backend_can_run_is_refused_by_name() -> None:
    recipe = read_recipe(ENSEMBLES / "bert_trt")
    lacking = recipe.model_copy(update={"artifacts": tuple(a for a in recipe.artifacts if a.name != "model.onnx")})
    cpu = replace(CPU, backends=("openvino", "dali"))
    reason = r"cannot run the step bert-trt: .* makes no file for its backends \(openvino, dali\)"
    with pytest.raises(EnsembleError, match=reason):
        select_models(lacking.model_copy(update={"engines": {}}), read_models(ENSEMBLES / "bert_trt"), cpu)


@pytest.mark.parametrize("image", IMAGES)
def test_every_gpu_config_passes_check_and_the_real_servers_parser(image: str, tmp_path: Path) -> None:
    """The only errors of the real server on this machine are about a missing GPU, the backends of NVIDIA's image, and
    the stand-in for a model's file, where a step runs on the CPU.

    It reports an unknown field, a warm-up that contradicts the inputs, or a broken DAG in other words.
    """
    lacking = re.compile(
        "has kind KIND_GPU but no GPUs are available|unable to find backend library for backend|"
        "ONNX Runtime cannot load model.onnx"
    )
    unread = tmp_path / "unread"
    unread.write_bytes(b"no backend reads this")
    plans = {name: plan_build(ENSEMBLES / name, gpu(image)) for name in ALL}
    for name, plan in plans.items():
        models = tmp_path / "models" / name
        stage(plan, models, artifacts={artifact.path: unread for artifact in plan.artifacts}, environments={})
        faults = check([models], Destination("gpu", "ml.g5.xlarge", image)).faults
        wrong = {fault.rule for fault in faults if fault.severity is Severity.ERROR}
        assert wrong <= {"environment-missing", "import-missing", "model-file-broken"}, name  # other tests'
        for folder in models.iterdir():
            folder.rename(tmp_path / folder.name)
    with ModelLoader(tmp_path, tmp_path) as judge:
        for model in (f"{name}.{step}" for name, plan in plans.items() for step in plan.selected):
            verdict = judge.load_surely(model)
            assert lacking.search(verdict.words), (model, verdict.words)


def test_the_cpu_target_takes_the_python_of_an_image_and_no_instance() -> None:
    assert target_of("cpu").python == "" and target_of("cpu", "24.09").python == "3.10"
    with pytest.raises(EnsembleError, match="the cpu target is not built for an instance"):
        target_of("cpu", "", "ml.m5.xlarge")
    assert target_of("gpu", "123.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:24.09-py3").image == "24.09"


def test_plans_for_the_cpu_target_are_refused(tmp_path: Path) -> None:
    """Otherwise they are ignored silently."""
    result = CliRunner().invoke(main, ["build", "bert_trt", "--engines-from", str(tmp_path)])
    assert result.exit_code == 2 and "--engines-from is for --target gpu" in result.output


def test_diff_shows_differences_and_builds_nothing() -> None:
    result = CliRunner().invoke(main, ["diff", "cpu", "gpu", "bert_trt", "--image", "24.09"])
    assert result.exit_code == 0, result.output
    for words in (
        "the installed one  ->  1.39.0",
        "as in the environment file  ->  3.10",
        "-bert-trt/1/model.onnx  made by bert_onnx",
        "+bert-trt/1/model.plan  made by tensorrt_plan",
        "+    kind: KIND_GPU",
    ):
        assert words in result.output


def test_a_version_without_the_file_of_the_others_is_refused() -> None:
    """Triton's config names one file for all versions, so that version would not load."""
    recipe = read_recipe(ENSEMBLES / "resnet")
    lacking = recipe.model_copy(
        update={"artifacts": tuple(each for each in recipe.artifacts if each.path != "resnet50/2/model.plan")}
    )
    with pytest.raises(EnsembleError, match=r"version 2 of the step resnet50 has no model\.plan, which version 1 has"):
        select_models(lacking, read_models(ENSEMBLES / "resnet"), gpu("24.09"))


def test_the_release_table_is_complete() -> None:
    """Otherwise a release is missing or a version is misspelled."""
    table = releases()
    assert list(table) == sorted(table)
    assert table["24.10"].triton == "2.51.0"
    assert len({release.triton for release in table.values()}) == len(table)
    known = ("3.8", "3.10", "3.12")
    assert all(row.python in known for name, row in table.items() if name <= "26.09")
    assert {row.python for name, row in table.items() if name > "26.09"} == {""}, "a release page does not say it"


def test_instances_without_gpus() -> None:
    """Otherwise deploy cannot tell which image an instance gets."""
    model = botocore.session.get_session().get_service_model("sagemaker")
    types = model.shape_for("ProductionVariantInstanceType").enum
    for name in [name for name in types if re.match(r"ml\.[cmrt]\d", name)]:
        known = instance_of(name)
        assert known and not known.gpus, name
        # Amazon's own processors have a g after the generation.
        assert known.architecture == ("aarch64" if re.match(r"ml\.\w\dg", name) else "x86_64"), name
