"""The boto3 clients of one run, and AWS's errors as errors for people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import boto3
from botocore import exceptions
from botocore.config import Config

from triton_ensembles.errors import EnsembleError

# Said here, because botocore's own default differs between its versions and can be changed by the environment.
_CONTROL = Config(retries={"mode": "standard", "total_max_attempts": 5})
# InvokeEndpoint answers within 60 s or says ModelNotReadyException; AWS's documentation asks for 70 s of patience.
_RUNTIME = Config(retries={"mode": "standard", "total_max_attempts": 3}, read_timeout=70)
# A price is a courtesy: nobody should wait for it.
_PRICES = Config(retries={"mode": "standard", "total_max_attempts": 1}, connect_timeout=3, read_timeout=5)
_PRICE_LIST_REGION = "us-east-1"  # the Price List API is in a few regions only, and knows the prices of all

_CURES = {
    "AccessDenied": "give the caller's role this permission, or use another profile (AWS_PROFILE)",
    "ResourceLimitExceeded": "ask for a higher quota of this instance type for endpoint use (Service Quotas), or take "
    "another --instance",
    "ExpiredToken": "renew the credentials",
    "InvalidClientTokenId": "check the credentials: AWS does not know this access key",
    "UnrecognizedClientException": "check the credentials: AWS does not know this access key",
    "SignatureDoesNotMatch": "check AWS_SECRET_ACCESS_KEY",
}


class Aws:
    """The clients, made when first used, for the region and the credentials that boto3 finds.

    Raises:
        EnsembleError: no region is set.
    """

    def __init__(self, session: boto3.Session | None = None) -> None:
        self._session = session or boto3.Session()
        if not self._session.region_name:
            raise EnsembleError("no AWS region is set", cure="export AWS_DEFAULT_REGION, for instance us-east-1")
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


_MISSING = ("could not find", "no scaling policy found", "no scalable target found")


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Turns botocore's errors inside into an :class:`EnsembleError` that says what was being done."""
    try:
        yield
    except exceptions.ClientError as error:
        code = code_of(error)
        cure = next((cure for part, cure in _CURES.items() if code.startswith(part)), "")
        raise EnsembleError(f"{what}: {code}: {message_of(error)}", cure=cure) from error
    except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError) as error:
        raise EnsembleError(
            f"{what}: boto3 finds no credentials",
            cure="export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
        ) from error
    except (exceptions.EndpointConnectionError, exceptions.ConnectTimeoutError) as error:
        raise EnsembleError(
            f"{what}: {error}", cure="check the network, AWS_DEFAULT_REGION and AWS_ENDPOINT_URL"
        ) from error
    except exceptions.BotoCoreError as error:
        raise EnsembleError(f"{what}: {error}") from error


def code_of(error: exceptions.ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", "Unknown"))


def message_of(error: exceptions.ClientError) -> str:
    return str(error.response.get("Error", {}).get("Message") or error).rstrip(".")


def is_missing(error: exceptions.ClientError) -> bool:
    """SageMaker has no code of its own for what is not there: a ValidationException says 'Could not find …'."""
    words = message_of(error).lower()
    return code_of(error) in ("ResourceNotFound", "ObjectNotFoundException") or (
        code_of(error).startswith("Validation") and any(each in words for each in _MISSING)
    )


def is_busy(error: exceptions.ClientError) -> bool:
    """Whether SageMaker refuses because the endpoint is being created, updated or deleted at this moment."""
    return code_of(error).startswith("Validation") and "in-progress" in message_of(error).lower()
