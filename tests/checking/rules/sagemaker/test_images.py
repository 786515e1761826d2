"""The tables of releases and instances, and the faults that they reveal in archives."""

import re

import botocore.session

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
