"""The boto3 clients of one run."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import boto3
from botocore.config import Config

from triton_ensembles.errors import EnsembleError

# Set here, because botocore's own default differs between its versions and can be changed by the environment.
_CONTROL = Config(retries={"mode": "standard", "total_max_attempts": 5})
# InvokeEndpoint answers within 60 s, if only with ModelNotReadyException; AWS's documentation asks clients for 70 s.
_RUNTIME = Config(retries={"mode": "standard", "total_max_attempts": 3}, read_timeout=70)
# Prices are only shown: nobody should wait for them.
_PRICES = Config(retries={"mode": "standard", "total_max_attempts": 1}, connect_timeout=3, read_timeout=5)


def _client(service: str, config: Config = _CONTROL, **more: str) -> cached_property[Any]:
    return cached_property(lambda aws: aws._session.client(service, config=config, **more))


class Aws:
    """The clients, created when first used, for the region and the credentials that boto3 finds.

    Raises:
        EnsembleError: no region is set.
    """

    def __init__(self) -> None:
        self._session = boto3.Session()
        if not self._session.region_name:
            raise EnsembleError("no AWS region is set", cure="export AWS_DEFAULT_REGION, for example us-east-1")
        self.region: str = self._session.region_name

    s3 = _client("s3")
    sagemaker = _client("sagemaker")
    runtime = _client("sagemaker-runtime", _RUNTIME)
    sts = _client("sts")
    scaling = _client("application-autoscaling")
    # The Price List API is in a few regions only, and knows the prices of all.
    pricing = _client("pricing", _PRICES, region_name="us-east-1")
