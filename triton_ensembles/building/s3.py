"""The client of S3 that reads what recipes and tables of variants name."""

from typing import Any

from triton_ensembles.ground.extras import missing_extra


def s3_client(**options: Any) -> Any:
    """The client, with the credentials, the region and the AWS_ENDPOINT_URL that boto3 finds. ``options``: more of
    botocore's Config. Raises :class:`EnsembleError`: boto3 is not installed."""
    try:
        import boto3
        from botocore.config import Config
    except ModuleNotFoundError as error:
        raise missing_extra(error, "an s3:// source") or error from error
    retries = {"mode": "standard", "total_max_attempts": 3}
    config = Config(connect_timeout=10, read_timeout=60, retries=retries, **options)
    return boto3.Session().client("s3", config=config)
