"""A pytest plugin: the real tritonserver, steps without it, and the API of SageMaker on this machine, as fixtures.

    def test_tokens(triton_step):
        assert triton_step("models/tokenizer").infer(TEXT=["good film"])["INPUT_IDS"].tolist() == [[101, 2204, 102]]

    def test_answer(triton_server):
        server = triton_server("ensembles/bert_trt")
        ...tritonclient.http.InferenceServerClient(server.http_url)...

    def test_invocation(sagemaker_endpoint):
        name = sagemaker_endpoint.deploy("dist/cpu/bert_trt.tar.gz")
        sagemaker_endpoint.client("sagemaker-runtime").invoke_endpoint(EndpointName=name, ...)

pytest imports this module when it starts, for every test of every project that has the package installed. So nothing
is imported here that is not light: what the fixtures need, they import when a test asks for them.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from triton_ensembles.ground.extras import require
from triton_ensembles.pytest_plugin.log_report import logs_of, pytest_runtest_makereport, pytest_runtest_protocol

if TYPE_CHECKING:
    from triton_ensembles.pytest_plugin.endpoints import OwnEndpoint
    from triton_ensembles.pytest_plugin.rehearsal import Rehearsal
    from triton_ensembles.pytest_plugin.servers import Servers
    from triton_ensembles.testing import Step

__all__ = [
    "pytest_addoption",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "sagemaker_endpoint",
    "sagemaker_endpoint_proc",
    "triton_server",
    "triton_step",
]

# Before a test imports gRPC, whose handlers else abort one of a hundred processes that are started beside its clients:
# between fork and exec, its poller reads a descriptor that is closed (grpcio 1.85.1, ev_epoll1_linux.cc).
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

# The name in pytest's configuration file, its default, and the help.
_SETTINGS = {
    "triton_server_arguments": ("", "Further flags of tritonserver, such as '--log-verbose=1'."),
    "sagemaker_endpoint_memory_budget": ("8G", "Memory of each instance of an endpoint."),
    "sagemaker_endpoint_disk_budget": ("32G", "Disk space of each instance of an endpoint."),
    "sagemaker_endpoint_region": ("us-east-1", "The region of endpoints and clients."),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, (default, text) in _SETTINGS.items():
        parser.addini(name, text, default=default)


@pytest.fixture(scope="session")
def triton_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """triton_server(path, ..., arguments=[]): the real tritonserver, started once for each path and stopped at the end.

    A path is a model repository, one model of it, a .tar.gz of either, or the folder of a project's ensemble, which is
    built first; relative to pytest's rootdir. Several paths are served by one server. The arguments are further flags.
    """
    __tracebackhide__ = True
    require("serve", "triton_server")
    from triton_ensembles.pytest_plugin.servers import Servers

    config, folder = request.config, tmp_path_factory.mktemp("triton_server")
    logs_of(config).watch(folder, "*.log")
    with ExitStack() as stopping:
        yield Servers(config.rootpath, folder, shlex.split(config.getini("triton_server_arguments")), stopping)


@pytest.fixture
def triton_step(request: pytest.FixtureRequest) -> Iterator[Callable[..., Step]]:
    """triton_step(path, ...): a Python step in this process, without a server; see load_step. The path is relative to
    pytest's rootdir."""
    from triton_ensembles.testing import load_step

    with ExitStack() as stack:

        def load(path: str | os.PathLike[str], **options: Any) -> Step:
            __tracebackhide__ = True
            return stack.enter_context(load_step(request.config.rootpath / path, **options))

        yield load


@pytest.fixture(scope="session")
def sagemaker_endpoint_proc(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OwnEndpoint]:
    """The process of the local endpoint: SageMaker, its runtime, S3, CloudWatch, STS and Auto Scaling. It is started
    once and stopped at the end of the session."""
    __tracebackhide__ = True
    require("serve", "sagemaker_endpoint")
    from triton_ensembles.pytest_plugin.endpoints import OwnEndpoint

    setting = request.config.getini
    options = [
        *("--memory-budget", setting("sagemaker_endpoint_memory_budget")),
        *("--disk-budget", setting("sagemaker_endpoint_disk_budget")),
    ]
    root = tmp_path_factory.mktemp("sagemaker_endpoint")
    endpoint = OwnEndpoint(root, *options, region=setting("sagemaker_endpoint_region"))
    logs_of(request.config).watch(root, "*/logs/*.log")
    with endpoint:
        yield endpoint


@pytest.fixture
def sagemaker_endpoint(
    request: pytest.FixtureRequest,
    sagemaker_endpoint_proc: OwnEndpoint,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Rehearsal]:
    """SageMaker, its runtime, S3 and Auto Scaling on this machine, without what earlier tests have created.

    client("sagemaker") and the like are boto3's, and so is every other client that is made while the test runs: none
    can reach AWS.
    """
    __tracebackhide__ = True
    from triton_ensembles.pytest_plugin.rehearsal import rehearsal

    with rehearsal(sagemaker_endpoint_proc, request.config.rootpath, tmp_path_factory, monkeypatch) as running:
        yield running
