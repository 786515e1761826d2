"""A local endpoint server that runs: its boto3 clients, and the environment of programs that are to use it.

Neither has anything of the user's AWS in it (a variable AWS_…, a profile, a file of ~/.aws, a proxy), so that AWS
itself is out of reach.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import boto3
from botocore.config import Config
from botocore.session import Session

from triton_ensembles.endpoint.announcement import environment
from triton_ensembles.server.ports import LOOPBACK

_NOTHING_ELSE = {
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}


class RunningEndpoint:
    """A local endpoint server at ``url``, such as ``http://127.0.0.1:8080``, whose clients sign for ``region``."""

    def __init__(self, url: str, region: str = "us-east-1") -> None:
        self.url = url
        self.region = region

    def environment(self) -> dict[str, str]:
        """``os.environ`` without what it says of AWS, and with the variables that send boto3 to this endpoint."""
        return without_aws(os.environ) | environment(self.url, self.region)

    def client(self, service: str, **config: Any) -> Any:
        """A boto3 client; ``config`` is botocore's."""
        return self._session.client(
            service,
            endpoint_url=self.url,
            region_name=self.region,
            aws_access_key_id="local",
            aws_secret_access_key="local",
            config=Config(**{"proxies": {}} | config),
        )

    @cached_property
    def _session(self) -> Any:
        """The session of all clients, which keeps the models of services. It reads no variables and no files."""
        settings = {
            name: (None, None, default, cast) for name, (*_, default, cast) in Session.SESSION_VARIABLES.items()
        }
        files = dict.fromkeys(("config_file", "credentials_file"), (None, None, os.devnull, None))
        return boto3.Session(botocore_session=Session(session_vars=settings | files))


def without_aws(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of a program for which the user's credentials and settings of AWS are not there."""
    kept = {name: value for name, value in variables.items() if not name.startswith("AWS_")} | _NOTHING_ELSE
    direct = variables.get("no_proxy") or variables.get("NO_PROXY") or ""
    if direct != "*" and LOOPBACK not in direct.split(","):
        direct = ",".join(filter(None, (direct, LOOPBACK)))
    return kept | {"no_proxy": direct, "NO_PROXY": direct}
