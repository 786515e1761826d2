"""What a started endpoint tells: the variables for boto3, and the line that is printed last."""

from __future__ import annotations

LAST_LINE = "Ctrl-C stops it"


def environment(url: str, region: str, s3_url: str | None = None) -> dict[str, str]:
    """What boto3 has to find in its environment. With another S3 the credentials are the user's own."""
    names = {"AWS_ENDPOINT_URL": url}
    names |= (
        {"AWS_ENDPOINT_URL_S3": s3_url} if s3_url else {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
    )
    return names | {"AWS_DEFAULT_REGION": region}
