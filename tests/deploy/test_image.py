"""The URI of the image, by region and tag."""

import csv
import re

import pytest

from checkout import ROOT
from triton_ensembles.deploy.image import image_uri
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.releases import releases


@pytest.mark.parametrize(
    ("tag", "region", "instance", "account", "complete"),
    [
        ("24.09", "us-east-1", "ml.g4dn.xlarge", "763104351884", "24.09-py3"),
        ("24.09", "us-east-1", "ml.c5.xlarge", "763104351884", "24.09-py3-cpu"),
        ("25.04-py3-cpu", "ap-south-2", "ml.g5.xlarge", "772153158452", "25.04-py3-cpu"),
        ("26.05", "ap-southeast-6", "ml.m5.xlarge", "633930458069", "26.05-py3-cpu"),
        ("23.03", "us-east-1", "ml.g4dn.4xlarge", "785573368785", "23.03-py3"),
        ("24.09", "cn-north-1", "ml.g4dn.xlarge", "727897471807", "24.09-py3"),
    ],
)
def test_the_uri_is_that_of_the_sources(tag: str, region: str, instance: str, account: str, complete: str) -> None:
    """Otherwise a user would deploy an image that does not exist, and learn of it ten minutes later."""
    host = f"{account}.dkr.ecr.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}"
    assert image_uri(tag, region, instance) == f"{host}/sagemaker-tritonserver:{complete}"


@pytest.mark.parametrize(
    ("tag", "region", "words"),
    [
        ("24.10", "us-east-1", "known releases there: 23.03, 23.12"),
        ("24.09", "us-gov-west-1", "AWS keeps release 24.09 of its Triton image in us-gov-west-1 is unknown"),
        ("24.09", "ap-south-2", "known releases there: 25.04, 25.09, 26.05"),
        ("25.09", "cn-north-1", "24.05, 24.09, 25.04)"),
        ("latest", "us-east-1", "is not a tag of SageMaker's"),
    ],
)
def test_an_unknown_image_is_not_guessed(tag: str, region: str, words: str) -> None:
    """The error names --image-uri instead."""
    with pytest.raises(EnsembleError, match=re.escape(words)) as caught:
        image_uri(tag, region, "ml.g4dn.xlarge")
    assert "--image-uri" in str(caught.value)


def test_an_unknown_instance_needs_the_complete_tag() -> None:
    """Whether it has a GPU decides the tag."""
    with pytest.raises(EnsembleError, match=r"--image 24\.09-py3 or 24\.09-py3-cpu"):
        image_uri("24.09", "us-east-1", "ml.z9.large")
    assert image_uri("24.09-py3", "us-east-1", "ml.z9.large").endswith(":24.09-py3")


def test_the_table_has_one_account_for_each_region_and_release() -> None:
    """Otherwise the account of an image would depend on the order of the rows."""
    with (ROOT / "triton_ensembles/deploy/accounts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert all(re.fullmatch(r"\d{12}", row["account"]) for row in rows)
    pairs = [(row["region"], release) for row in rows for release in row["releases"].split()]
    assert len(pairs) == len(set(pairs))
    assert all(releases()[release].sagemaker == "yes" for _, release in pairs), "the two tables contradict each other"
