"""The lines that a started endpoint prints: the variables for boto3, and the last line."""

LAST_LINE = "Ctrl-C stops it"


def environment(url: str, region: str, s3_url: str | None = None) -> dict[str, str]:
    """The environment variables that send boto3 to the endpoint. With another S3, the credentials are the user's."""
    names = {"AWS_ENDPOINT_URL": url}
    names |= (
        {"AWS_ENDPOINT_URL_S3": s3_url} if s3_url else {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
    )
    return names | {"AWS_DEFAULT_REGION": region}
