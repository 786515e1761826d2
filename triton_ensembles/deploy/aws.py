"""The boto3 clients of one run, and botocore's errors: as messages for people, and the few that commands handle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore import exceptions
from botocore.config import Config

from triton_ensembles.ground.errors import EnsembleError

# Set here, because botocore's own default differs between its versions and can be changed by the environment.
_CONTROL = Config(retries={"mode": "standard", "total_max_attempts": 5})
# InvokeEndpoint answers within 60 s, if only with ModelNotReadyException; AWS's documentation asks clients for 70 s.
_RUNTIME = Config(retries={"mode": "standard", "total_max_attempts": 3}, read_timeout=70)
# Prices are only shown: nobody should wait for them.
_SHOWN = Config(retries={"mode": "standard", "total_max_attempts": 1}, connect_timeout=3, read_timeout=5)
_CURES = {
    "AccessDenied": "give the caller's role this permission, or use another profile (AWS_PROFILE)",
    "403": "give the caller's role the permission for this bucket, or use another profile (AWS_PROFILE)",
    "ResourceLimitExceeded": "request a higher quota of this instance type for endpoint use (Service Quotas), or use "
    "another --instance",
    "ExpiredToken": "renew the credentials",
    "InvalidClientTokenId": "check the credentials: AWS does not know this access key",
    "UnrecognizedClientException": "check the credentials: AWS does not know this access key",
    "SignatureDoesNotMatch": "check AWS_SECRET_ACCESS_KEY",
}
_MISSING_CODES = ("ResourceNotFound", "ObjectNotFoundException")
_MISSING_IN_S3 = ("404", "NotFound", "NoSuchKey", "NoSuchBucket", "NoSuchTagSet")
_MISSING_WORDS = ("could not find", "no scaling policy found", "no scalable target found")


def _client(service: str, config: Config = _CONTROL, **more: str) -> cached_property[Any]:
    def create(aws: Aws) -> Any:
        try:
            client = aws._session.client(service, config=config, **more)
            _ = urlsplit(client.meta.endpoint_url).port  # botocore looks at it only when it signs a request
        except exceptions.BotoCoreError:  # such as that of a region's name, which is also a ValueError
            raise
        except ValueError as error:
            cure = "write it as http://HOST:PORT"
            raise EnsembleError(f"AWS_ENDPOINT_URL cannot be used: {error}", cure=cure) from error
        return client

    return cached_property(create)


class Aws:
    """The clients, created when first used, for the credentials that boto3 finds.

    Args:
        region: None for the one that boto3 finds.

    Raises:
        EnsembleError: no region is set.
    """

    def __init__(self, region: str | None = None) -> None:
        self._session = boto3.Session(region_name=region)
        if not self._session.region_name:
            raise EnsembleError("no AWS region is set", cure="export AWS_DEFAULT_REGION, for example us-east-1")
        self.region: str = self._session.region_name

    s3 = _client("s3")
    sagemaker = _client("sagemaker")
    runtime = _client("sagemaker-runtime", _RUNTIME)
    sts = _client("sts")
    scaling = _client("application-autoscaling")

    @property
    def has_credentials(self) -> bool:
        """Return whether boto3 finds any."""
        return self._session.get_credentials() is not None

    @property
    def is_amazon(self) -> bool:
        """Return whether SageMaker's API is AWS's own, not that of another server which AWS_ENDPOINT_URL names."""
        own = self._session.client("sagemaker", config=Config(ignore_configured_endpoint_urls=True))
        return len({own.meta.endpoint_url, self.sagemaker.meta.endpoint_url}) == 1

    # The Price List API is in a few regions only, and knows the prices of all.
    pricing = _client("pricing", _SHOWN, region_name="us-east-1")


@contextmanager
def aws_errors(action: str) -> Iterator[None]:
    """Raise botocore's errors inside the block as :class:`EnsembleError`, with AWS's code, its message and a fix.

    Args:
        action: completes "could not ...": ``upload to s3://bucket/``.
    """
    try:
        yield
    except exceptions.ClientError as error:
        code = error_code(error)
        cure = next((cure for start, cure in _CURES.items() if code.startswith(start)), "")
        raise EnsembleError(f"could not {action}: {code}: {error_message(error)}", cure=cure) from error
    except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError) as error:
        cure = "export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        raise EnsembleError(f"could not {action}: boto3 finds no credentials", cure=cure) from error
    except (exceptions.EndpointConnectionError, exceptions.ConnectTimeoutError) as error:
        message = f"could not {action}: {error}"
        raise EnsembleError(message, cure="check the network, AWS_DEFAULT_REGION and AWS_ENDPOINT_URL") from error
    except exceptions.BotoCoreError as error:
        raise EnsembleError(f"could not {action}: {error}") from error


def if_exists(operation: Callable[..., Any], **request: Any) -> dict[str, Any] | None:
    """The answer of an operation of boto3, or None where AWS answers that its subject does not exist.
    Raises :class:`ClientError`: every other error of AWS."""
    try:
        answer: dict[str, Any] = operation(**request)
    except exceptions.ClientError as error:
        if is_missing(error):
            return None
        raise
    return answer


def error_code(error: exceptions.ClientError) -> str:
    """AWS's code, such as ``ValidationException``; ``Unknown`` where the answer has none."""
    return str(error.response.get("Error", {}).get("Code", "Unknown"))


def error_message(error: exceptions.ClientError) -> str:
    """AWS's message without the period at its end."""
    return str(error.response.get("Error", {}).get("Message") or error).rstrip(".")


def is_missing(error: exceptions.ClientError) -> bool:
    """Return whether the resource does not exist. SageMaker has no code for it, only a ValidationException's words."""
    code, message = error_code(error), error_message(error).lower()
    return code in (*_MISSING_CODES, *_MISSING_IN_S3) or (
        code.startswith("Validation") and any(words in message for words in _MISSING_WORDS)
    )


def is_busy(error: exceptions.ClientError) -> bool:
    """Return whether SageMaker refuses because the endpoint is being created, updated or deleted at this moment."""
    return error_code(error).startswith("Validation") and "in-progress" in error_message(error).lower()
