"""What a step does wrong, or seldom does, has the same words in a test and in the fused form as in the real stub."""

import queue
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc

from tests.configs import ON_CPU, in_a_row, tensors
from tests.files import write_files
from tests.running import serving
from tests.runtime.fused.forms import stage_fused_form
from triton_ensembles import testing
from triton_ensembles.server.triton_server import TritonServer

HEAD = """import threading
import time

import numpy as np
import triton_python_backend_utils as pb_utils

Y = np.ones(2, np.float32)


def final(sender, *responses):
    for response in responses:
        sender.send(response)
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class TritonPythonModel:
    def execute(self, requests):
        return getattr(self, "do_" + requests[0].request_id())(requests, requests[0])
"""
CONFIG = f'backend: "python"\n{tensors()}{ON_CPU}'
OK = "pb_utils.InferenceResponse([pb_utils.Tensor('Y', Y)])"
ANSWERS = {  # what execute does, by name
    "plain": f"return [{OK}]",
    "tensor_of_list": "pb_utils.Tensor('Y', [1, 2])",
    "tensor_by_name": "pb_utils.Tensor(name='Y', array=Y)",
    "tensor_without_array": "pb_utils.Tensor('Y')",
    "tensor_without_name": "pb_utils.Tensor('', Y)",
    "tensor_of_complex": "pb_utils.Tensor('Y', Y.astype(np.complex64))",
    "tensor_of_str": "pb_utils.Tensor('Y', np.array(['a', 'b']))",
    "tensor_swapped": "pb_utils.Tensor('Y', Y.astype('>f4'))",
    "tensor_0d": "return [pb_utils.InferenceResponse([pb_utils.Tensor('Y', np.array(1, np.float32))])]",
    "bytes": "return [pb_utils.InferenceResponse([pb_utils.Tensor('Y', np.array([b'a', b'bc']))])]",
    "response_keyword": "pb_utils.InferenceResponse(outputs=[])",
    "response_of_text": "pb_utils.InferenceResponse(error='text')",
    "response_of_none": "pb_utils.InferenceResponse([None])",
    "error_of_number": "pb_utils.TritonError(5)",
    "error_code": "return [pb_utils.InferenceResponse([], pb_utils.TritonError('no', pb_utils.TritonError.CANCELLED))]",
    "both": "return [pb_utils.InferenceResponse([pb_utils.Tensor('Y', Y)], pb_utils.TritonError('both'))]",
    "log_number": "pb_utils.Logger.log_info(5)",
    "log_keyword": "pb_utils.Logger.log_warn(text='x')",
    "dtype": "pb_utils.Tensor('Y', Y).triton_dtype()",
    "dlpack": "return [pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack('Y', pb_utils.Tensor('X', Y))])]",
    "dlpack_of_text": "pb_utils.Tensor('Y', np.array([b'a'], object)).to_dlpack()",
    "parameters_of_call": "self.call(request, parameters={'a': 1.5})",
    "keys_of_call": "self.call(request, parameters={1: 1})",
    "correlation_of_call": "self.call(request, correlation_id=1.5)",
    "outputs_of_call": "pb_utils.InferenceRequest(model_name='m', requested_output_names=[''], inputs=[])",
    "decoupled_call": "return [self.call(request, model_name='stream', request_id='none').exec()]",
    "log_surrogate": "pb_utils.Logger.log_error('bad \\udc80')",
    "silent": "raise ValueError",
    "mute": "raise Mute",
    "unknown_tensor": "pb_utils.get_input_tensor_by_name(request, 'Z').as_numpy()",
    "unknown_type": "pb_utils.triton_string_to_numpy('FP32')",
    "null": "return [None, None]",
    "none": "return []",
    "tuple": f"return ({OK},)",
    "text": "return ['text']",
    "sent": f"request.get_response_sender().send({OK}, flags=1)",
    "sent_and_returned": f"request.get_response_sender().send({OK}, flags=1); return [{OK}]",
    "sent_flags": f"request.get_response_sender().send({OK}, flags=7)",
    "sent_nothing": "request.get_response_sender().send()",
    "sent_final": "request.get_response_sender().send(flags=1)",
    "gauge": "return [self.value(pb_utils.MetricFamily('a_gauge', 'b', pb_utils.MetricFamily.GAUGE))]",
    "flags": "request.set_flags(9); return [self.text(request.flags(), request.timeout(), request.correlation_id())]",
    "types": "return [self.text(pb_utils.triton_to_numpy_type(11), pb_utils.numpy_to_triton_type(np.int8))]",
}
STREAMS = {
    "none": "final(request.get_response_sender())",
    "three": f"final(request.get_response_sender(), {OK}, {OK}, {OK})",
    "failing": "final(request.get_response_sender(), pb_utils.InferenceResponse(error=pb_utils.TritonError('no')))",
    "returning": f"return [{OK}]",
    "raising": f"request.get_response_sender().send({OK}); raise ValueError('late')",
    "closed": f"sender = request.get_response_sender(); final(sender); sender.send({OK})",
    "thread": f"threading.Timer(0.2, final, (request.get_response_sender(), {OK}, {OK})).start()",
}
BESIDE = """
    def call(self, request, **more):
        more = {"model_name": "missing"} | more
        return pb_utils.InferenceRequest(requested_output_names=["Y"], inputs=request.inputs(), **more)

    def text(self, *values):
        return pb_utils.InferenceResponse(error=pb_utils.TritonError(repr(values)))

    def value(self, family):
        metric = family.Metric(labels={"a": "b"})
        metric.set(3)
        metric.increment(-1)
        return self.text(metric.value())
"""


def write(folder: Path, cases: dict[str, str], more: str = "") -> None:
    methods = "".join(
        f"\n    def do_{name}(self, requests, request):\n        {case}\n" for name, case in cases.items()
    )
    write_files(folder, {"config.pbtxt": CONFIG + more, "1/model.py": HEAD + BESIDE + methods})


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    write(folder / "single", ANSWERS)
    write(folder / "stream", STREAMS, "model_transaction_policy { decoupled: true }\n")
    source = tmp_path_factory.mktemp("written") / "fused"
    write(source / "single", ANSWERS)
    files = {"ensemble.toml": 'description = "One step"\n', "ensemble/config.pbtxt": in_a_row("single") + tensors()}
    stage_fused_form(write_files(source, files), folder)
    return folder


@pytest.fixture(scope="module")
def client(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[grpc.InferenceServerClient]:
    server = TritonServer([repository], log=tmp_path_factory.mktemp("log") / "log")
    with serving(server), grpc.InferenceServerClient(server.grpc_url) as client:
        yield client


def comparable(answer: Any) -> Any:
    """Without addresses, the folders of files, and the name of the ensemble."""
    if isinstance(answer, list):
        return [comparable(each) for each in answer]
    if isinstance(answer, dict):
        return {name: (array.dtype, array.shape, array.tolist()) for name, array in answer.items()}
    return re.sub(r"(0x[0-9a-f]+)|(/[^\n:]*/)|in ensemble 'fused', |fused\.(?=single)", "", str(answer))


def served(client: grpc.InferenceServerClient, model: str, word: str) -> Any:
    tensor = grpc.InferInput("X", [2], "FP32")
    tensor.set_data_from_numpy(np.zeros(2, np.float32))
    answers: queue.Queue[Any] = queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    try:
        client.async_stream_infer(model, [tensor], request_id=word, enable_empty_final_response=True)
        found = []
        while True:
            result, error = answers.get(timeout=60)
            if error is not None:
                found.append(comparable(error.message()))
                break
            response = result.get_response()
            if response.outputs:
                found.append(comparable({each.name: result.as_numpy(each.name) for each in response.outputs}))
            if response.parameters["triton_final_response"].bool_param:
                break
    finally:
        client.stop_stream()
    return found


def here(folder: Path, word: str) -> Any:
    with testing.load_step(folder) as step:
        try:
            answer = step.infer(testing.Request({"X": [0, 0]}, id=word))
        except testing.TritonError as error:
            answer = error
    return comparable(answer if isinstance(answer, list) else [answer])


WORDS = [*(("single", word) for word in ANSWERS), *(("stream", word) for word in STREAMS)]


@pytest.mark.parametrize(("model", "word"), WORDS)
def test_an_answer_is_that_of_the_stub(
    repository: Path, client: grpc.InferenceServerClient, model: str, word: str
) -> None:
    """Otherwise a test that expects an error passes, and Triton says something else."""
    assert here(repository / model, word) == served(client, model, word)


OTHERS = {"log_keyword", "decoupled_call", *(word for word in ANSWERS if word.startswith("sent"))}
"""What the fused form refuses in words of its own: its steps return their responses, and call each other only."""


@pytest.mark.parametrize("word", [word for word in ANSWERS if word not in OTHERS])
def test_an_answer_of_the_fused_form_is_that_of_the_stub(client: grpc.InferenceServerClient, word: str) -> None:
    """Otherwise what is deployed gives another number, or another error, than what was drawn."""
    assert served(client, "fused", word) == served(client, "single", word)
