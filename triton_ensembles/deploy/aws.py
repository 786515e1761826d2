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
_PRICE_LIST_REGION = "us-east-1"  # the Price List API is in a few regions only, and knows the prices of all


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

    @cached_property
    def s3(self) -> Any:
        return self._session.client("s3", config=_CONTROL)

    @cached_property
    def sagemaker(self) -> Any:
        return self._session.client("sagemaker", config=_CONTROL)

    @cached_property
    def runtime(self) -> Any:
        return self._session.client("sagemaker-runtime", config=_RUNTIME)

    @cached_property
    def sts(self) -> Any:
        return self._session.client("sts", config=_CONTROL)

    @cached_property
    def scaling(self) -> Any:
        return self._session.client("application-autoscaling", config=_CONTROL)

    @cached_property
    def pricing(self) -> Any:
        return self._session.client("pricing", region_name=_PRICE_LIST_REGION, config=_PRICES)
