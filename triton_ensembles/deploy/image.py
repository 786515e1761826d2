"""Which container image a model of SageMaker names: by release and region, out of accounts.csv with its sources."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

from triton_ensembles.errors import EnsembleError
from triton_ensembles.triton.releases import instance_of
from triton_ensembles.triton.targets import CPU

_TABLE = Path(__file__).parent / "accounts.csv"
_TAG = re.compile(r"(?P<release>\d\d\.\d\d)(-py3(-cpu)?)?")
# Archives of the cpu target are for the pip-only server, not for any image of AWS (other Python, other backends), and
# AWS has no image of that name. An endpoint that has it is the only place where these archives can run.
PIP_SERVER = "triton-ensembles/tritonserver:2.51.0-pip"
# The newest release in the table whose image still has the TensorFlow backend (triton/releases.csv).
DEFAULT_RELEASE = "24.09"


def default_image(target: str, built_for: str, region: str, instance: str) -> str:
    """The image that the archives of a target are ``built_for`` (a release, "" when they do not say)."""
    return PIP_SERVER if target == CPU.name else image_uri(built_for or DEFAULT_RELEASE, region, instance)


def image_uri(tag: str, region: str, instance: str) -> str:
    """``24.09`` (or a whole tag such as ``24.09-py3-cpu``) as the URI of AWS's image in ``region``.

    A bare release becomes the tag for the instance: ``-py3`` with a GPU, ``-py3-cpu`` without.

    Raises:
        EnsembleError: no source says where AWS keeps this release in this region.
    """
    match = _TAG.fullmatch(tag)
    if match is None:
        raise EnsembleError(
            f"'{tag}' is no tag of SageMaker's Triton image", cure="write --image 24.09, or the whole --image-uri"
        )
    release = match["release"]
    owners = {row["region"]: row["account"] for row in _rows() if release in row["releases"].split()}
    if region not in owners:
        known = sorted({found for row in _rows() if row["region"] == region for found in row["releases"].split()})
        raise EnsembleError(
            f"it is not known where AWS keeps release {release} of its Triton image in {region or 'no region'}"
            + (f" (known there: {', '.join(known)})" if known else ""),
            path=_TABLE,
            cure="give the whole image with --image-uri",
        )
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    whole = tag if tag != release else _tag(release, instance)
    return f"{owners[region]}.dkr.ecr.{region}.{domain}/sagemaker-tritonserver:{whole}"


def image_to_check(image: str) -> str:
    """What ``check`` is to judge by: nothing for an image whose tag names no release, whose content is unknown."""
    return image if re.search(r":.*\d\d\.\d\d-py3", image) else ""


def _tag(release: str, instance: str) -> str:
    known = instance_of(instance)
    if known is None:
        raise EnsembleError(
            f"it is not known whether {instance} has a GPU", cure=f"write --image {release}-py3 or {release}-py3-cpu"
        )
    return f"{release}-py3" if known.gpus else f"{release}-py3-cpu"


@cache
def _rows() -> tuple[dict[str, str], ...]:
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(line for line in file if not line.startswith("#")))
