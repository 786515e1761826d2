"""The container image of a SageMaker model, by release and region: accounts.csv, with its sources."""

import re
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import table_rows
from triton_ensembles.triton.pip_server import VERSION
from triton_ensembles.triton.releases import instance_of, tag_of

_TABLE = Path(__file__).parent / "accounts.csv"
_TAG = re.compile(r"(?P<release>\d\d\.\d\d)(-py3(-cpu)?)?")
# Archives that were built for no image are for the server from PyPI (other Python, other backends). AWS has no image of
# this name; these archives run only on an endpoint that has one.
PIP_SERVER = f"triton-ensembles/tritonserver:{VERSION}-pip"


def image_uri(tag: str, region: str, instance: str) -> str:
    """The URI of AWS's image in ``region``.

    Args:
        tag: a release (``24.09``), to which ``-py3`` is added for an instance type with a GPU and ``-py3-cpu`` for one
            without; or a complete tag (``24.09-py3-cpu``).

    Raises:
        EnsembleError: ``tag`` is not a tag of this image, it is unknown whether the instance type has a GPU, or no
            source tells in which account AWS keeps this release in this region.
    """
    match = _TAG.fullmatch(tag)
    if match is None:
        message = f"'{tag}' is not a tag of SageMaker's Triton image"
        raise EnsembleError(message, cure="use a release, as --image 24.09, or give the complete --image-uri")
    release = match["release"]
    rows = table_rows(_TABLE)
    owners = {row["region"]: row["account"] for row in rows if release in row["releases"].split()}
    if region not in owners:
        known = sorted({name for row in rows if row["region"] == region for name in row["releases"].split()})
        there = f" (known releases there: {', '.join(known)})" if known else ""
        message = f"the account in which AWS keeps release {release} of its Triton image in {region} is unknown{there}"
        raise EnsembleError(message, path=_TABLE, cure="give the complete --image-uri")
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    if tag == release:
        machine = instance_of(instance)
        if machine is None:
            message = f"it is unknown whether {instance} has a GPU"
            raise EnsembleError(message, cure=f"use --image {release}-py3 or {release}-py3-cpu")
        tag = tag_of(release, machine)
    return f"{owners[region]}.dkr.ecr.{region}.{domain}/sagemaker-tritonserver:{tag}"
