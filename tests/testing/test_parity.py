"""Random Python steps answer in the process of a test as in the real stub: the same outputs, and the same errors."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tritonclient.grpc as grpc

from tests.files import write_files
from tests.running import serving
from tests.runtime.fused.dags import Dag, Request, Tensor, random_dags, random_request
from tests.runtime.fused.test_parity import agree, answer, bits, without_folders
from triton_ensembles import testing
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.model_config import DataType, read_config

NUMBERS = (23, pytest.param(24, marks=pytest.mark.slow))
COUNT = 14
STATUS = {"INVALID_ARG": "INVALID_ARGUMENT", "UNSUPPORTED": "UNIMPLEMENTED"}


def requests_for(config: Path, number: int) -> list[Request]:
    read = read_config(config)
    rows = read.max_batch_size
    inputs, outputs = (
        [
            Tensor(each.name, DataType.Name(each.data_type)[5:], tuple(each.dims), rows > 0, "optional" in str(each))
            for each in tensors
        ]
        for tensors in (read.input, read.output)
    )
    dag, chance = Dag(rows, inputs, outputs, []), Random(number)
    return [random_request(dag, chance) for _ in range(7)]


def here(step: testing.Step, request: Request) -> Any:
    """What a client would see of a step in this process, as ``answer`` gives it."""
    about = (request.outputs, request.id, request.parameters, request.sequence)
    try:
        return bits(step.infer(testing.Request(request.inputs, *about, timeout=request.timeout or 0)))
    except testing.TritonError as error:
        return f"StatusCode.{STATUS.get(error.code, error.code)}", without_folders(error)


@pytest.fixture(scope="module", params=NUMBERS)
def models(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("steps")
    for number, dag in enumerate(random_dags(COUNT, request.param)):
        for model in {model.name: model for model in (*(use.model for use in dag.uses), *dag.called)}.values():
            name = f"dag{number}.{model.name}"
            write_files(folder / name, replace(model, name=name).files())
    return folder


@pytest.fixture(scope="module")
def client(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[grpc.InferenceServerClient]:
    arguments = ["--exit-on-error=false", "--strict-readiness=false"]
    server = TritonServer([models], log=tmp_path_factory.mktemp("log") / "log", arguments=arguments)
    with serving(server), grpc.InferenceServerClient(server.grpc_url) as client:
        yield client


def test_steps_answer_as_in_the_stub(models: Path, client: grpc.InferenceServerClient) -> None:
    """Otherwise a unit test passes, and the step does something else in Triton."""
    names = [path.name for path in sorted(models.iterdir()) if client.is_model_ready(path.name)]
    assert len(names) > COUNT
    count = 0
    for number, name in enumerate(names):
        with testing.load_step(models / name) as step:
            for request in requests_for(models / name / "config.pbtxt", number):
                drawn, found = answer(client, name, request), here(step, request)
                config = (models / name / "config.pbtxt").read_text()
                assert agree(drawn, found), f"{drawn}\n\n{found}\n\n{request}\n\n{config}"
                count += 1
    assert count > 100
