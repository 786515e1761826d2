"""The commands on endpoints as people type them, with moto in place of AWS."""

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from tests.deploy.conftest import MakeArchive, aws, credentials, make_archive  # noqa: F401  (fixtures)
from triton_ensembles.deploy import sagemaker_endpoint
from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.aws import Aws

Run = Callable[..., Result]


@pytest.fixture
def run(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Run:  # noqa: F811
    """``run(command, "--flag", …)``; an error for people is in ``result.exception``."""
    monkeypatch.setattr(sagemaker_endpoint, "FIRST_PAUSE", 0.001)
    monkeypatch.delenv("SAGEMAKER_ROLE", raising=False)

    def call(command: click.Command, *arguments: str | Path, project: Path | None = None) -> Result:
        return CliRunner().invoke(command, [str(each) for each in arguments], obj=project)

    return call


@pytest.fixture
def archive(make_archive: MakeArchive) -> Archive:  # noqa: F811
    return make_archive("echo")
