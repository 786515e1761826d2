"""Prices and instance types: no sum in dollars rests on a price of something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_ensembles.deploy.price import Price
from triton_ensembles.errors import EnsembleError
from triton_ensembles.planning.instances import host_of
from triton_ensembles.planning.prices import quote

HEAD = "instance,per_hour,currency,region\n"


def test_aws_is_asked_first_and_the_table_is_the_fallback() -> None:
    asked = quote("ml.g4dn.2xlarge", "eu-central-1", None, lambda _: Price(1.17, "2026-11-01"))
    assert (asked.dollars, asked.source) == (1.17, "AWS price list of 2026-11-01, eu-central-1")
    fallen = quote("ml.g4dn.2xlarge", "us-east-1", None, lambda _: None)
    assert fallen.dollars == 0.94
    assert "us-east-1, read 2026-11" in fallen.source
    assert fallen.month(1) == pytest.approx(676.80)


def test_another_size_of_a_family_without_gpus_is_an_estimate_and_says_so() -> None:
    found = quote("ml.c7i.2xlarge", "us-east-1", None, None)
    assert found.estimated
    assert found.dollars == pytest.approx(0.428)
    assert "estimated by vCPUs from ml.c7i.xlarge" in found.source


@pytest.mark.parametrize(
    ("instance", "region", "message"),
    [
        ("ml.g6.4xlarge", "us-east-1", "no price is known for ml.g6.4xlarge"),
        ("ml.m7i.large", "us-east-1", "no price is known for ml.m7i.large"),
        (
            "ml.c5.xlarge",
            "eu-central-1",
            "no price is known for ml.c5.xlarge in eu-central-1: .* the table has us-east-1 only",
        ),
    ],
)
def test_without_a_price_there_is_no_sum(instance: str, region: str, message: str) -> None:
    with pytest.raises(EnsembleError, match=message) as caught:
        quote(instance, region, None, None)
    assert "--prices FILE" in caught.value.cure


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("ml.c5.xlarge,0.2,EUR,us-east-1", r":2: its price of ml.c5.xlarge is in EUR; give US dollars"),
        ("ml.c5.xlarge,0.2,USD,eu-west-1", r":2: its price of ml.c5.xlarge is for eu-west-1, not for us-east-1"),
        ("ml.m5.xlarge,0.2,USD,us-east-1", "it has no price of ml.c5.xlarge"),
        ("ml.c5.xlarge,0,USD,us-east-1", r":2: '0' is no price of an hour"),
        ("ml.c5.xlarge,nan,USD,us-east-1", r":2: 'nan' is no price of an hour"),
        ("ml.c5.xlarge,$0.2,USD,us-east-1", r":2: '\$0.2' is no price of an hour"),
        ("ml.c5.xlarge,0.2,,us-east-1", r":2: it has to have 4 values"),
        ("ml.c5.xlarge,0.2", r":2: it has to have 4 values"),
        ("ml.c5.xlarge,0.2,USD,us-east-1\nml.c5.xlarge,0.3,USD,us-east-1", r":3: it has two prices"),
        ("ml.c5.xlarge," + "9" * 200_000, "this is not a CSV: field larger"),
    ],
)
def test_a_price_file_is_read_strictly(tmp_path: Path, rows: str, message: str) -> None:
    file = tmp_path / "prices.csv"
    file.write_text(HEAD + rows + "\n")
    with pytest.raises(EnsembleError, match=message):
        quote("ml.c5.xlarge", "us-east-1", file, lambda _: Price(0.1, "2026-11-01"))


def test_a_price_file_replaces_all_other_prices(tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    file.write_text(f"# of our contract\n{HEAD}c5.xlarge, 0.15, usd, eu-west-1\nml.c5.xlarge,0.16,USD,us-east-1\n")
    assert quote("ml.c5.xlarge", "eu-west-1", file, lambda _: Price(9, "2026-11-01")).dollars == 0.15
    file.write_text("instance,price\nml.c5.xlarge,1\n")
    with pytest.raises(EnsembleError, match="its first line is not instance,per_hour,currency,region"):
        quote("ml.c5.xlarge", "us-east-1", file, None)


def test_instances_are_those_of_ec2() -> None:
    found = host_of("ml.g4dn.2xlarge", slack=0.0)
    assert (found.cores, found.memory_bytes, found.disk_bytes, found.gpu) == (8, 32 << 30, 225 * 10**9, "T4")
    assert found.disk_rate is None  # its own drives: EBS does not bound them
    other = host_of("c7i.2xlarge", slack=0.25)
    assert (other.name, other.memory_bytes, other.disk_bytes) == ("ml.c7i.2xlarge", 12 << 30, None)
    assert other.disk_rate == 312.5e6
    assert host_of("ml.c7i.2xlarge", disk_bytes=10**9).disk_bytes == 10**9


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ml.c7i.3xlarge", r"'ml.c7i.3xlarge' is not an instance type \(did you mean ml.c7i.\d*xlarge\?\)"),
        ("ml.nothing", "'ml.nothing' is not an instance type"),
        ("ml.g4dn.12xlarge", "ml.g4dn.12xlarge has 4 GPUs, and multi-model endpoints take types with one"),
        ("ml.c7g.2xlarge", "ml.c7g.2xlarge has Arm processors"),
    ],
)
def test_other_instances_are_refused(name: str, message: str) -> None:
    with pytest.raises(EnsembleError, match=message):
        host_of(name)
