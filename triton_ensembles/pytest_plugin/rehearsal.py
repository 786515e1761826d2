"""A local endpoint as tests get it: clients, and endpoints over its archives."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest

from triton_ensembles.building.build import build
from triton_ensembles.building.places import Places
from triton_ensembles.checking.single_model import single_model
from triton_ensembles.deploy.image import PIP_SERVER
from triton_ensembles.deploy.keys import archive_name
from triton_ensembles.deploy.rehearsal import Containers, create_endpoint
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.pytest_plugin.endpoints import OwnEndpoint
from triton_ensembles.serving.served import as_written, built_of, served
from triton_ensembles.triton.destination import SingleModel


def archive_of(path: Path, scratch: Path, progress: Progress, single: SingleModel | None = None) -> Path:
    """The archive, under the name that is its TargetModel; one that is made of a folder is written to ``scratch``.
    ``single``: how a single-model endpoint will serve it. Raises :class:`EnsembleError`: there is nothing at ``path``,
    it is no .tar.gz, or it cannot be packed or built."""
    if (path / RECIPE).is_file():
        return built_of(path, progress, single=single is not None).archive
    if path.is_dir():
        places = Places(scratch, scratch / "build", scratch)
        return build(as_written(served(path, scratch, progress, single), places), progress).archive
    archive_name(path)
    return path


# A failure is the test's to see, at the first time. InvokeEndpoint answers within 60 s; AWS asks clients for 70.
_CONFIG = {"retries": {"mode": "standard", "total_max_attempts": 1}, "read_timeout": 70}


class Rehearsal:
    """Value of the fixture ``sagemaker_endpoint``: its ``url``, such as ``http://127.0.0.1:8080``, its ``region``, and
    ``environment()``, the variables of a program that is to use it, in which nothing is of the user's AWS."""

    def __init__(self, endpoint: OwnEndpoint, root: Path, scratch: pytest.TempPathFactory) -> None:
        self._endpoint, self._root, self._scratch = endpoint, root, scratch
        self.url, self.region, self.environment = endpoint.url, endpoint.region, endpoint.environment
        self.clients: list[Any] = []

    def client(self, service: str, **config: Any) -> Any:
        """boto3's client of sagemaker, sagemaker-runtime, s3, application-autoscaling, cloudwatch or sts.

        It does not try again what fails, unless ``config`` (botocore's) has other ``retries``.
        """
        client = self._endpoint.client(service, **_CONFIG | config)
        self.clients.append(client)
        return client

    def deploy(
        self,
        *paths: str | os.PathLike[str],
        name: str = "",
        image: str = PIP_SERVER,
        instance: str = "ml.c5.xlarge",
        count: int = 1,
        environment: Mapping[str, str] | None = None,
        single: bool = False,
    ) -> str:
        """Upload archives, create a multi-model endpoint over them, and wait until it is in service.

        Args:
            paths: archives, folders that become archives, or folders of a project's ensembles, which are built first;
                relative to pytest's rootdir. TargetModel is the name of the archive, or of the folder and .tar.gz.
            name: of the endpoint; by default one that no other has had. Its model and configuration have the
                same name.
            image: the container's; the Python of its steps is that of the release that it names.
            instance: the type of its instances.
            count: their number.
            environment: the container's variables, such as SAGEMAKER_TRITON_LOG_VERBOSE.
            single: create a single-model endpoint of the one archive instead, as ``deploy --single`` does.

        Returns the name of the endpoint. Raises :class:`EnsembleError`: a path is nothing to deploy, a single-model
        endpoint cannot serve it, or the endpoint failed; with SageMaker's reason.
        """
        __tracebackhide__ = True
        name = name or f"rehearsal-{uuid.uuid4().hex[:12]}"
        variables = dict(environment or {})
        alone = single_model(variables) if single else None
        made = [archive_of(self._root / path, self._scratch.mktemp("archive"), print, alone) for path in paths]
        archives = [(archive.name, archive) for archive in made]
        create_endpoint(self, name, archives, Containers(image, variables, single), instance, count)
        return name


@contextmanager
def rehearsal(
    endpoint: OwnEndpoint, root: Path, scratch: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Rehearsal]:
    """The endpoint for one test. What the test creates is removed at the end. Until ``monkeypatch`` is undone, every
    client of boto3 that is made goes to this endpoint: also one of the code under test, or of a program that it starts.
    """
    __tracebackhide__ = True
    with endpoint.emptied():
        variables = endpoint.environment()
        for name in os.environ.keys() - variables.keys():
            monkeypatch.delenv(name)
        for name, value in variables.items():
            if os.environ.get(name) != value:
                monkeypatch.setenv(name, value)
        monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # it may hold a profile and credentials
        running = Rehearsal(endpoint, root, scratch)
        try:
            yield running
        finally:
            for client in running.clients:
                client.close()
