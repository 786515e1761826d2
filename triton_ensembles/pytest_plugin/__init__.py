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

import os

from triton_ensembles.pytest_plugin import factories
from triton_ensembles.pytest_plugin.fixture_settings import pytest_addoption
from triton_ensembles.pytest_plugin.log_report import pytest_runtest_makereport, pytest_runtest_protocol

__all__ = [
    "factories",
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

triton_server = factories.triton_server()
triton_step = factories.triton_step()
sagemaker_endpoint_proc = factories.sagemaker_endpoint_proc()
sagemaker_endpoint = factories.sagemaker_endpoint("sagemaker_endpoint_proc")
