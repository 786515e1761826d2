"""Random DAGs of Python steps give the same answers and the same errors as drawn and as fused, from the real server."""

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tritonclient.grpc as grpc

from tests.ensembles.clients import infer
from tests.running import serving
from tests.runtime.fused.dags import Dag, Request, random_dags
from tests.runtime.fused.forms import stage_both
from triton_ensembles.server.triton_server import TritonServer

COUNT, NUMBERS = 12, (17, pytest.param(19, marks=pytest.mark.slow))  # each kind of failure has its turn
BATCH_HABITS = {"raises", "exits", "divides", "keeps", "async"}
"""What fails, or changes, all requests of an execution, so that it depends on which ones came together."""


class Running(NamedTuple):
    stack: ExitStack
    server: TritonServer
    client: grpc.InferenceServerClient


def answer(client: grpc.InferenceServerClient, model: str, request: Request) -> Any:
    """The outputs bit for bit, or the error, without the folders in tracebacks."""
    options = {"request_id": request.id, "sequence_id": request.sequence, "parameters": request.parameters}
    outputs = [grpc.InferRequestedOutput(name) for name in request.outputs]
    seconds = 60  # a request that takes longer hangs
    options |= {"outputs": outputs, "timeout": request.timeout, "client_timeout": seconds}
    try:
        return bits(infer(client, model, request.inputs, **options))
    except grpc.InferenceServerException as error:
        return str(error.status()), without_folders(error.message())


def bits(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """What can be compared of each array: an output that the server announces may have none."""
    return {name: array if array is None else _bits(array) for name, array in outputs.items()}


def _bits(array: np.ndarray) -> tuple[Any, ...]:
    return array.dtype, array.shape, array.tolist() if array.dtype == np.object_ else array.tobytes()


def without_folders(message: object) -> str:
    return re.sub(r"/[^\n:]*/", "", str(message))


class Served:
    """The same DAGs in two servers."""

    def __init__(self, dags: list[Dag], folder: Path) -> None:
        self.dags, self._folder = dags, folder
        for number, dag in enumerate(dags):
            dag.write(folder / "written" / f"dag{number}")
            stage_both(folder / "written" / f"dag{number}", folder)
        self._drawn, self._fused = self._start("drawn"), self._start("fused")
        self.loaded = [number for number in range(len(dags)) if self._drawn.client.is_model_ready(f"dag{number}")]

    def close(self) -> None:
        self._drawn.stack.close()
        self._fused.stack.close()

    def start_drawn_again(self) -> None:
        self._drawn.stack.close()
        self._drawn = self._start("drawn")

    def _start(self, form: str) -> Running:
        # The strategy also makes DAGs that 24.10 refuses to load.
        arguments = ["--exit-on-error=false", "--strict-readiness=false"]
        with ExitStack() as stack:
            server = TritonServer([self._folder / form], log=self._folder / f"{form}.log", arguments=arguments)
            stack.enter_context(serving(server))
            client = stack.enter_context(grpc.InferenceServerClient(server.grpc_url))
            return Running(stack.pop_all(), server, client)

    def drawn(self, number: int, request: int) -> Any:
        """None when the server hangs, or has died of it."""
        found = answer(self._drawn.client, f"dag{number}", self.dags[number].requests[request])
        hangs = isinstance(found, tuple) and found[0] == "StatusCode.DEADLINE_EXCEEDED"
        # It dies a moment before it is seen to have ended.
        dies = isinstance(found, tuple) and re.search("Socket closed|Connection re(set|fused)|Broken pipe", found[1])
        return None if hangs or dies or not self._drawn.server.alive() else found

    def fused(self, number: int, request: int) -> Any:
        return answer(self._fused.client, f"dag{number}", self.dags[number].requests[request])

    def described(self, number: int) -> str:
        files = sorted((self._folder / "written" / f"dag{number}").rglob("config.pbtxt"))
        return "\n".join([f"the DAG {number}:", *(file.read_text() for file in files)])


@pytest.fixture(scope="module", params=NUMBERS)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = Served(random_dags(COUNT, request.param), tmp_path_factory.mktemp("dags"))
    yield served
    served.close()


def agree(drawn: Any, fused: Any) -> bool:
    """Whether a client sees the same. Two errors are only compared where they are of the same step. With requested
    outputs, 24.10 prunes steps that are needed, and then says "unexpected deadlock"."""
    if not isinstance(drawn, tuple):
        return bool(drawn == fused)
    if "unexpected deadlock" in drawn[1]:
        return True
    if not isinstance(fused, tuple):
        return False
    if _steps(drawn) != _steps(fused):  # of branches, which run at the same time, either may fail first
        return True
    return _certain(drawn) == _certain(fused)


def _steps(error: tuple[str, str]) -> set[str]:
    return set(re.findall(r"dag\d+\.[mc]\d+", error[1]))


def _certain(error: tuple[str, str]) -> tuple[str, str]:
    """Which of several wrong inputs is named depends on a hash table's order, and a thread's line on the moment."""
    message = re.sub(r"(unexpected shape for |inference )?input '.*|Got input\(s\) \[.*?\]", r"\1", error[1])
    return error[0], re.sub(r"(thread|threading)\.py\(\d+\)", r"\1.py", message)


def test_fused_dags_answer_as_drawn(served: Served) -> None:
    """Otherwise what is deployed is not what was drawn."""
    assert len(served.loaded) > COUNT / 2
    assert any(use.model.calls for number in served.loaded for use in served.dags[number].uses)
    for number in served.loaded:
        for request in range(len(served.dags[number].requests)):
            drawn, fused = served.drawn(number, request), served.fused(number, request)
            order = [tensor.name for tensor in served.dags[number].outputs]  # the drawn form has that of a hash table
            assert isinstance(fused, tuple) or [*fused] == [name for name in order if name in fused]
            if drawn is None:  # a request that fails can lock 24.10: the rule ensemble-branch of check
                served.start_drawn_again()
                continue
            assert agree(drawn, fused), f"{drawn}\n\n{fused}\n\n{served.described(number)}"


def test_requests_that_come_together_get_the_answers_that_they_get_alone(served: Served) -> None:
    """Otherwise requests of one batch get each other's rows, or fail with each other."""
    numbers = [
        number
        for number in served.loaded
        if not any(BATCH_HABITS.intersection(use.model.habits) for use in served.dags[number].uses)
    ]
    asked = [(number, request) for number in numbers for request in range(len(served.dags[number].requests))]
    alone = [served.fused(*each) for each in asked]
    with ThreadPoolExecutor(32) as pool:
        together = list(pool.map(lambda each: served.fused(*each), asked * 3))
    for each, first, found in zip(asked * 3, alone * 3, together, strict=True):
        assert agree(first, found), f"{first}\n\n{found}\n\n{served.described(each[0])}"
