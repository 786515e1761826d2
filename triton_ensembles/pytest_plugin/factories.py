"""Makes the fixtures: processes of one's own, and what tests get of them.

    from triton_ensembles.pytest_plugin import factories

    small_proc = factories.sagemaker_endpoint_proc(memory_budget="500M")
    small_endpoint = factories.sagemaker_endpoint("small_proc")

An argument that is not given is a setting of pytest's configuration file (see ``pytest --help``).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

import pytest

from triton_ensembles.ground.extras import require
from triton_ensembles.pytest_plugin.fixture_settings import setting
from triton_ensembles.pytest_plugin.log_report import logs_of

if TYPE_CHECKING:
    from triton_ensembles.pytest_plugin.endpoints import OwnEndpoint
    from triton_ensembles.pytest_plugin.rehearsal import Rehearsal
    from triton_ensembles.pytest_plugin.servers import Servers
    from triton_ensembles.testing import Step

Scope = Literal["session", "package", "module", "class", "function"]


def triton_server(*, arguments: Sequence[str] | None = None, scope: Scope = "session") -> Callable[..., Any]:
    """A fixture that starts tritonserver with further flags, ``arguments``; the servers are stopped at the end of
    ``scope``."""

    @pytest.fixture(scope=scope)
    def triton_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
        """triton_server(path, ...): the real tritonserver, started once for each path and stopped at the end.

        A path is a model repository, one model of it, a .tar.gz of either, or the folder of a project's ensemble, which
        is built first; relative to pytest's rootdir. Several paths are served by one server.
        """
        __tracebackhide__ = True
        require("serve", "triton_server")
        from triton_ensembles.pytest_plugin.servers import Servers

        config, folder = request.config, tmp_path_factory.mktemp("triton_server")
        own = shlex.split(setting(config, "triton_server_arguments")) if arguments is None else arguments
        logs_of(config).watch(folder, "*.log")
        with Servers(config.rootpath, folder, own) as servers:
            yield servers

    return triton_server


def triton_step(*, seconds: float = 60.0) -> Callable[..., Any]:
    """A fixture that loads Python steps into the test's process; each execution may take ``seconds``."""

    @pytest.fixture
    def triton_step(request: pytest.FixtureRequest) -> Iterator[Callable[..., Step]]:
        """triton_step(path, ...): a Python step in this process, without a server; see load_step. The path is relative
        to pytest's rootdir."""
        from triton_ensembles.testing import load_step

        with ExitStack() as stack:

            def load(path: str | os.PathLike[str], **options: Any) -> Step:
                __tracebackhide__ = True
                return stack.enter_context(load_step(request.config.rootpath / path, **{"seconds": seconds} | options))

            yield load

    return triton_step


def sagemaker_endpoint_proc(
    *, memory_budget: str | None = None, disk_budget: str | None = None, region: str | None = None
) -> Callable[..., Any]:
    """A fixture that starts the local endpoint: SageMaker, its runtime, S3, CloudWatch, STS and Auto Scaling. The
    budgets are those of each instance, such as ``500M``; the ``region`` is that of ARNs and clients."""

    @pytest.fixture(scope="session")
    def sagemaker_endpoint_proc(
        request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
    ) -> Iterator[OwnEndpoint]:
        """The process of the local endpoint, started once and stopped at the end of the session."""
        __tracebackhide__ = True
        require("serve", "sagemaker_endpoint")
        from triton_ensembles.pytest_plugin.endpoints import OwnEndpoint

        config = request.config
        options = [
            *("--memory-budget", setting(config, "sagemaker_endpoint_memory_budget", memory_budget)),
            *("--disk-budget", setting(config, "sagemaker_endpoint_disk_budget", disk_budget)),
        ]
        root = tmp_path_factory.mktemp("sagemaker_endpoint")
        endpoint = OwnEndpoint(root, *options, region=setting(config, "sagemaker_endpoint_region", region))
        logs_of(config).watch(root, "*/logs/*.log")
        with endpoint:
            yield endpoint

    return sagemaker_endpoint_proc


def sagemaker_endpoint(process: str = "sagemaker_endpoint_proc") -> Callable[..., Any]:
    """A fixture with a clean endpoint for each test; ``process`` is the name of the fixture of its process."""

    @pytest.fixture
    def sagemaker_endpoint(
        request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[Rehearsal]:
        """SageMaker, its runtime, S3 and Auto Scaling on this machine, without what earlier tests have created.

        client("sagemaker") and the like are boto3's, and so is every other client that is made while the test runs:
        none can reach AWS.
        """
        __tracebackhide__ = True
        endpoint = request.getfixturevalue(process)
        from triton_ensembles.pytest_plugin.rehearsal import rehearsal

        with rehearsal(endpoint, request.config.rootpath, tmp_path_factory, monkeypatch) as running:
            yield running

    return sagemaker_endpoint
