"""The tables of releases and instances, and the faults that they reveal in archives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.check.packing import IO, Content, faults, members, rules, write
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.releases import instance_of, release_of, releases

PLAN: dict[str, Content] = {
    "one/config.pbtxt": 'platform: "tensorrt_plan"\nmax_batch_size: 8\n'
    + IO
    + "instance_group [ { kind: KIND_GPU } ]\n",
    "one/1/model.plan": b"ptrt",
}


def _plan(**facts: str) -> dict[str, Content]:
    return {**PLAN, "manifest.json": json.dumps({"artifacts": {"one/1/model.plan": {"facts": facts}}})}


def test_the_release_table_is_complete() -> None:
    """Otherwise a release is missing or a version is misspelled."""
    table = releases()
    assert list(table) == sorted(table)
    assert table["24.10"].triton == "2.51.0"
    assert len({each.triton for each in table.values()}) == len(table)
    assert [each.release for each in table.values() if each.tensorflow == "yes"][-1] == "25.02"
    assert all(each.python in ("3.8", "3.10", "3.12") for each in table.values())


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
    """Otherwise a plan is compared with the wrong GPU."""
    g5 = instance_of("ml.g5.xlarge")
    assert g5 and (g5.gpu, g5.compute_capability, g5.gpus) == ("A10G", "8.6", 1)
    c5 = instance_of("ml.c5.xlarge")
    assert c5 and (c5.gpu, c5.gpus) == ("", 0)
    assert instance_of("ml.z9.xlarge") is None and instance_of("") is None


@pytest.mark.parametrize(
    ("files", "target", "expected"),
    [
        (PLAN, {"instance": "ml.c5.xlarge"}, {"instance-without-gpu"}),
        (_plan(compute_capability="8.6"), {"instance": "ml.g5.xlarge"}, set()),
        (_plan(compute_capability="8.6"), {"instance": "ml.g4dn.xlarge"}, {"plan-compute-capability"}),
        (_plan(compute_capability="8.0", hardware_compatibility="ampere_plus"), {"instance": "ml.g5.xlarge"}, set()),
        (PLAN, {"instance": "ml.g5.xlarge"}, {"plan-unknown"}),
        (_plan(tensorrt="10.4.0"), {"image": "26.06"}, {"plan-unknown", "image-not-on-sagemaker"}),  # not in the table
        (PLAN, {}, set()),
        (members(), {"instance": "ml.g55.xlarge"}, {"instance-unknown"}),
        (members(), {"image": "latest"}, {"image-unknown"}),
        (members(), {"image": "24.06"}, {"image-not-on-sagemaker"}),
        (
            {"one/config.pbtxt": 'backend: "rust_tokens"\n' + IO, "one/1": None},
            {"image": "24.09"},
            {"image-backend-unknown"},
        ),
        (
            {"one/config.pbtxt": 'backend: "rust_tokens"\n' + IO, "one/1": None, "one/libtriton_rust_tokens.so": b""},
            {"image": "24.09"},
            set(),
        ),
        (
            {"one/config.pbtxt": 'platform: "tensorflow_graphdef"\n' + IO, "one/1/model.graphdef": b""},
            {"image": "25.02"},
            {"image-not-on-sagemaker"},
        ),
        (
            {"one/config.pbtxt": 'platform: "tensorflow_graphdef"\n' + IO, "one/1/model.graphdef": b""},
            {"image": "25.04"},
            {"image-backend"},
        ),
    ],
)
def test_image_and_instance(
    files: dict[str, Content], target: dict[str, str], expected: set[str], tmp_path: Path
) -> None:
    """Otherwise a model is deployed to an image or a GPU that cannot run it, or a guess is reported as a fact."""
    assert rules(write(tmp_path / "a.tar.gz", files), **target) == expected


@pytest.mark.parametrize(
    ("built", "image", "faulty"),
    [
        ("10.4.0.26", "24.09", False),
        ("10.4.0", "24.09", False),  # as tensorrt.__version__ says it
        ("10.8.0.43", "24.09", True),
        ("10.7.0.23", "25.04", True),
        ("10.9.0.34", "25.04", False),
        ("8.6.3.2", "24.04", True),  # another build is enough: server issue #5975
    ],
)
def test_a_plan_of_another_tensorrt(built: str, image: str, faulty: bool, tmp_path: Path) -> None:
    """Otherwise plans are deployed that the image's TensorRT refuses, or good ones are reported."""
    assert ("plan-tensorrt" in rules(write(tmp_path / "a.tar.gz", _plan(tensorrt=built)), image=image)) is faulty


@pytest.mark.parametrize(
    ("record", "faulty"),
    [
        ({"made_from": {"tools": {"nvidia-dali-cuda130": "2.4.0"}}}, True),
        ({"made_from": {"tools": {"nvidia-dali-cuda130": "2.4.0"}}, "facts": {"dali": "2.4.0"}}, True),
        # the installed one only started the one that wrote it
        ({"made_from": {"tools": {"nvidia-dali-cuda130": "2.4.0"}}, "facts": {"dali": "1.39.0"}}, False),
        ({"made_from": {"tools": {"nvidia-dali-cuda130": "1.36.0"}}}, False),
    ],
)
def test_a_pipeline_of_a_newer_dali(record: dict[str, object], faulty: bool, tmp_path: Path) -> None:
    """Otherwise the image's DALI fails on unknown operators."""
    config = 'backend: "dali"\nmax_batch_size: 8\n' + IO
    files: dict[str, Content] = {
        "one/config.pbtxt": config,
        "one/1/model.dali": b"",
        "manifest.json": json.dumps({"artifacts": {"one/1/model.dali": record}}),
    }
    found = faults(write(tmp_path / "a.tar.gz", files), image="24.09")
    assert [fault.rule for fault in found] == ["pipeline-dali"] * faulty
    assert all(fault.place.path.endswith("one/1/model.dali") for fault in found)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "[" * 5000,
        '{"artifacts": []}',
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
