"""The tables of releases and instances, and the faults that they reveal in archives."""

from __future__ import annotations

import re
from pathlib import Path

import boto3
import pytest

from tests.checking.packing import IO, faults, write
from triton_ensembles.triton.releases import instance_of, releases


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
    plan = {"one/config.pbtxt": f'platform: "tensorrt_plan"\nmax_batch_size: 8\n{IO}', "one/1/model.plan": "ptrt"}
    one, two = (write(tmp_path / f"{len(json)}.tar.gz", {**plan, "manifest.json": json}) for json in (text, "{}  "))
    found = faults(one, two, image="24.09", instance="ml.g5.xlarge")
    assert not [fault for fault in found if "this rule itself failed" in fault.message]
