"""The tables of releases and instances, and the faults that they reveal in archives."""

from __future__ import annotations

import json
import re
from pathlib import Path

import boto3
import pytest

from tests.checking.packing import IO, Content, ensemble_of, faults, members, rules, write
from triton_ensembles.checking.examples import GRAPH_IDENTITY
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.releases import instance_of, release_of, releases

GPU = "instance_group [ { kind: KIND_GPU } ]\n"
Files = dict[str, Content]
PLAN: Files = {
    "one/config.pbtxt": f'platform: "tensorrt_plan"\nmax_batch_size: 8\n{IO}{GPU}',
    "one/1/model.plan": b"ptrt",
}
TENSORFLOW: Files = {
    "one/config.pbtxt": f'platform: "tensorflow_graphdef"\n{IO}',
    "one/1/model.graphdef": GRAPH_IDENTITY,
}


def _plan(**facts: str) -> Files:
    return {**PLAN, "manifest.json": json.dumps({"artifacts": {"one/1/model.plan": {"facts": facts}}})}


def test_the_release_table_is_complete() -> None:
    """Otherwise a release is missing or a version is misspelled."""
    table = releases()
    assert list(table) == sorted(table)
    assert table["24.10"].triton == "2.51.0"
    assert len({release.triton for release in table.values()}) == len(table)
    assert [release.release for release in table.values() if release.tensorflow == "yes"][-1] == "25.02"
    known = ("3.8", "3.10", "3.12")
    assert all(row.python in known for name, row in table.items() if name <= "26.09")
    assert {row.python for name, row in table.items() if name > "26.09"} == {""}, "a release page does not say it"


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("24.09", "24.09"),
        ("24.09-py3", "24.09"),
        ("123456789012.registry.example/sagemaker-tritonserver:24.09-py3", "24.09"),
        ("10.12.13.14:5000/mine/tritonserver:23.03-py3", "23.03"),
        ("latest", None),
        ("99.01", None),
    ],
)
def test_an_image_is_named_in_many_ways(image: str, release: str | None) -> None:
    """Otherwise the checker looks at another release than the one that will run."""
    found = release_of(Destination(image=image))
    assert (found.release if found else None) == release


def test_instances() -> None:
    """Otherwise a plan is compared with the wrong GPU, or deploy cannot tell which image an instance gets."""
    g5 = instance_of("ml.g5.xlarge")
    assert g5 and (g5.gpu, g5.compute_capability, g5.gpus) == ("A10G", "8.6", 1)
    client = boto3.client("sagemaker", region_name="us-east-1")
    types = client.meta.service_model.shape_for("ProductionVariantInstanceType").enum
    without_gpu = [name for name in types if re.match(r"ml\.[cmrt]\d", name)]
    assert {"ml.m5.xlarge", "ml.r5.xlarge", "ml.c7i.xlarge"} <= set(without_gpu)
    for name in without_gpu:
        known = instance_of(name)
        assert known and not known.gpus, name
        # Amazon's own processors have a g after the generation.
        assert known.architecture == ("aarch64" if re.match(r"ml\.\w\dg", name) else "x86_64"), name


DALI: Files = {
    "one/config.pbtxt": ensemble_of("one.images"),
    "one/1": None,
    "one.images/config.pbtxt": 'backend: "dali"\nmax_batch_size: 8\n' + IO,
    "one.images/1/model.dali": b"dali",
}
AWS = "763104351884.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver"


def _int8() -> Files:
    made = {"bert/1/model.int8.xml": {"made_from": {"maker": "int8_onnx"}}}
    return {**members(), "manifest.json": json.dumps({"artifacts": made})}


def _built_for(target: str, image: str, files: Files, **more: str) -> Files:
    return {**files, "manifest.json": json.dumps({"target": target, "image": image, **more})}


def _pipeline(version: str, **record: object) -> Files:
    made_by = {"made_from": {"tools": {"nvidia-dali-cuda130": version}}, **record}
    return {**DALI, "manifest.json": json.dumps({"ensemble": "one", "artifacts": {"images/1/model.dali": made_by}})}


@pytest.mark.parametrize(
    ("files", "target", "expected"),
    [
        (PLAN, {"instance": "ml.c5.xlarge"}, {"instance-without-gpu"}),
        (_plan(compute_capability="8.6"), {"instance": "ml.g5.xlarge"}, set()),
        (_plan(compute_capability="8.6"), {"instance": "ml.g4dn.xlarge"}, {"plan-compute-capability"}),
        (_plan(compute_capability="8.0", hardware_compatibility="ampere_plus"), {"instance": "ml.g5.xlarge"}, set()),
        (PLAN, {"instance": "ml.g5.xlarge"}, {"plan-unknown"}),
        (_int8(), {"instance": "ml.g5.xlarge"}, {"int8-instructions"}),  # an AMD Zen 2 beside the GPU
        (_int8(), {"instance": "ml.m5.xlarge"}, {"int8-instructions"}),  # some are Skylakes
        (_int8(), {"instance": "ml.c7i.xlarge"}, set()),
        (_plan(tensorrt="10.4.0"), {"image": "26.06"}, {"plan-unknown", "image-not-on-sagemaker"}),  # not in the table
        (PLAN, {}, set()),
        (members(), {"instance": "ml.g55.xlarge"}, {"instance-unknown"}),
        (members(), {"image": "latest"}, {"image-unknown"}),
        (members(), {"image": "24.06"}, {"image-not-on-sagemaker"}),
        (TENSORFLOW, {"image": "25.02"}, {"image-not-on-sagemaker"}),
        (DALI, {"image": "24.09-py3-cpu"}, {"image-backend"}),
        (DALI, {"image": f"{AWS}:24.09-py3-cpu@sha256:0a1b"}, {"image-backend"}),
        (DALI, {"image": "24.09-py3-cpu", "instance": "ml.g5.xlarge"}, {"image-backend"}),
        (DALI, {"image": "24.09", "instance": "ml.m5.xlarge"}, {"image-backend"}),  # SageMaker picks -cpu
        (DALI, {"instance": "ml.m5.xlarge"}, {"image-backend"}),  # of whatever release
        (_built_for("gpu", "24.09", DALI), {"instance": "ml.m5.xlarge"}, {"image-backend"}),
        (DALI, {"image": "24.09-py3", "instance": "ml.m5.xlarge"}, set()),  # runs on any host
        (DALI, {"image": "24.09", "instance": "ml.g5.xlarge"}, set()),
        (DALI, {"image": "mine/triton-cpu:24.09"}, set()),  # not a tag of AWS
        (DALI, {"image": "mine/triton:7", "instance": "ml.m5.xlarge"}, {"image-unknown"}),
        (DALI, {"device": "cpu", "instance": "ml.m5.xlarge"}, set()),  # this project's own server
        (_built_for("cpu", "", DALI), {"instance": "ml.m5.xlarge"}, set()),
        (_built_for("cpu", "", DALI), {"image": "24.09-py3-cpu"}, {"image-backend"}),
        (members(), {"image": "24.09-py3-cpu", "instance": "ml.m5.xlarge"}, set()),
        (members(), {"instance": "ml.m6g.xlarge"}, {"instance-architecture"}),
        (members(), {"image": f"{AWS}:24.09-py3-cpu", "instance": "ml.c7g.large"}, {"instance-architecture"}),
        (members(), {"image": "mine/tritonserver:24.09-arm64", "instance": "ml.c7g.large"}, set()),
        (PLAN, {"image": "24.09-py3-cpu"}, {"instance-without-gpu", "plan-unknown"}),
        (PLAN, {"image": "24.09", "instance": "ml.m5.xlarge"}, {"instance-without-gpu", "plan-unknown"}),
        # Python code for another stub: numpy cannot be imported there.
        (_built_for("fused", "24.09", members(), python="3.11"), {"image": "24.09"}, {"archive-python"}),
        (_built_for("fused", "24.09", members(), python="3.10"), {"image": "24.09-py3-cpu"}, set()),
        (_built_for("fused", "24.09", members(), python=""), {"image": "25.04"}, set()),
        (_pipeline("2.4.0"), {"image": "24.09"}, {"pipeline-dali"}),
        # The installed one only started the one that wrote it.
        (_pipeline("2.4.0", facts={"dali": "1.39.0"}), {"image": "24.09"}, set()),
        (_pipeline("1.36.0"), {"image": "24.09"}, set()),
        (_plan(tensorrt="10.4.0.26"), {"image": "24.09"}, set()),
        (_plan(tensorrt="10.4.0"), {"image": "24.09"}, set()),  # as tensorrt.__version__ says it
        (_plan(tensorrt="10.8.0.43"), {"image": "24.09"}, {"plan-tensorrt"}),
        # Another build is enough: server issue #5975.
        (_plan(tensorrt="8.6.3.2"), {"image": "24.04"}, {"plan-tensorrt", "image-not-on-sagemaker"}),
    ],
)
def test_image_and_instance(files: Files, target: dict[str, str], expected: set[str], tmp_path: Path) -> None:
    """Otherwise a model is deployed to an image or a GPU that cannot run it, or a guess is reported as a fact.

    The image for CPU instances has neither DALI nor TensorRT.
    """
    assert rules(write(tmp_path / "a.tar.gz", files), **target) == expected


def test_the_image_for_cpu_instances_has_the_other_backends(tmp_path: Path) -> None:
    """Otherwise good archives are refused."""
    backends = ("onnxruntime", "openvino", "pytorch", "fil", "identity", "python", "tensorflow")
    files: Files = {f"{backend}/config.pbtxt": f'backend: "{backend}"\n{IO}' for backend in backends}
    path = write(tmp_path / "a.tar.gz", {**files, **{f"{backend}/1": None for backend in backends}})
    assert "image-backend" not in rules(path, image="25.02-py3-cpu")
    (lacking,) = (
        fault for fault in faults(path, image="25.04", instance="ml.m5.xlarge") if fault.rule == "image-backend"
    )
    assert "tensorflow" in lacking.message


def test_the_fault_names_step_backend_and_image(tmp_path: Path) -> None:
    """People look for the step, and for the image that SageMaker would have picked."""
    path = write(tmp_path / "a.tar.gz", DALI)
    (fault,) = faults(path, image="24.09", instance="ml.m5.xlarge")
    assert "'one.images' needs the dali backend" in fault.message and "24.09-py3-cpu" in fault.message
    assert fault.effect.startswith("AWS's SDK picks that image for ml.m5.xlarge, which has no GPU")
    assert fault.cure.endswith("--image 24.09-py3")
    assert fault.place.path.endswith("one.images/config.pbtxt") and fault.place.line == 1
    (plan,) = [fault for fault in faults(write(tmp_path / "b.tar.gz", PLAN), image="24.09-py3-cpu") if fault.place.line]
    assert plan.message == "'one' is a TensorRT plan, and the image 24.09-py3-cpu is built without GPUs"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("specific { versions: [ 1, 2 ] }", ["one/2/model.plan"]),
        ("specific { versions: [ 1 ] }", []),
        ("all { }", ["one/2/model.plan"]),
    ],
)
def test_the_plan_of_every_version_that_is_served(policy: str, expected: list[str], tmp_path: Path) -> None:
    """Otherwise the second version is not known to fail before it does."""
    built = {f"one/{number}/model.plan": {"compute_capability": gpu} for number, gpu in ((1, "8.6"), (2, "7.5"))}
    artifacts = {path: {"facts": {"tensorrt": "10.4.0", **facts}} for path, facts in built.items()}
    files = {**PLAN, "one/2/model.plan": b"plan", "manifest.json": json.dumps({"artifacts": artifacts})}
    files["one/config.pbtxt"] = f"{PLAN['one/config.pbtxt']}version_policy {{ {policy} }}"
    found = faults(write(tmp_path / "a.tar.gz", files), image="24.09", instance="ml.g5.xlarge")
    named = [str(fault.place) for fault in found if fault.rule == "plan-compute-capability"]
    assert [name.partition("!")[2] for name in named] == expected


def test_the_gateways_archive_has_several_ensembles(tmp_path: Path) -> None:
    """Its container serves them all; SageMaker's own front end would serve one."""
    files = members("one") | members("two")
    several = {"sagemaker-several-ensembles"}
    assert several <= rules(write(tmp_path / "a.tar.gz", files))
    assert not several & rules(write(tmp_path / "b.tar.gz", files | {"models.toml": ""}))


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        "[" * 5000,
        '{"artifacts": {"one/1/model.plan": 3}, "target": 7, "triton": null}',
        '{"artifacts": {"one/1/model.plan": {"facts": [], "made_from": {"tools": 1}}}}',
        '{"artifacts": {"one/1/model.plan": {"facts": {"tensorrt": {}, "compute_capability": 8.6}}}}',
    ],
)
def test_a_broken_manifest_stops_nothing(text: str, tmp_path: Path) -> None:
    """Otherwise an archive that another tool made crashes the checker."""
    one = write(tmp_path / "a.tar.gz", {**PLAN, "manifest.json": text})
    two = write(tmp_path / "b.tar.gz", {**PLAN, "manifest.json": "{}"})
    found = faults(one, two, image="24.09", instance="ml.g5.xlarge")
    assert not [fault for fault in found if "this rule itself failed" in fault.message]
