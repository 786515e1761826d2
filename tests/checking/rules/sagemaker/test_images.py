"""The tables of releases and instances, and the faults that they reveal in archives."""

import re
from pathlib import Path

import botocore.session
import pytest

from tests.checking.packing import IO, faults, write
from triton_ensembles.triton.releases import instance_of, releases


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
