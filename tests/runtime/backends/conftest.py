"""A real tritonserver for each test module, and models written by the tests."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton
from google.protobuf.json_format import MessageToJson
from numpy.typing import NDArray

from checkout import ENSEMBLES, ROOT
from tests.configs import ON_CPU, tensors
from tests.ensembles.clients import infer
from tests.files import write_files
from tests.processes import wait_until
from tests.running import grpc_client, serving
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.model_config import ModelInstanceGroup, format_config, parse_config, read_config

Array = NDArray[Any]

# A Python model that loads the models in the request as our backends do, and answers why each is refused. Their engines
# are imported once for all of them, and not by a stub process for each.
REFUSALS = """
import sys
import numpy as np
import triton_python_backend_utils as pb_utils

sys.path.append(%r)
from triton_ensembles.runtime.backends.served_model.model import TritonPythonModel as Served


class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("REASON", self.reason(request))]) for request in requests]

    def reason(self, request):
        given = pb_utils.get_input_tensor_by_name(request, "MODEL").as_numpy()
        folder, config = (text.decode() for text in given)
        args = {"model_config": config, "model_repository": folder, "model_version": "1", "model_name": "bad"}
        args |= {"model_instance_name": "bad_0_0", "model_instance_kind": "CPU", "model_instance_device_id": "0"}
        try:
            Served().initialize(args)
        except Exception as error:
            return np.array([f"{type(error).__name__}: {error}".encode()], object)
        return np.array([b"it loads"], object)
"""
REFUSALS_CONFIG = f'backend: "python"\n{tensors("MODEL:STRING:2", "REASON:STRING:1")}{ON_CPU}'
_BACKENDS = {"pytorch_libtorch": "pytorch", "tensorflow_graphdef": "tensorflow", "tensorflow_savedmodel": "tensorflow"}


@dataclass
class ModelServer:
    """A server in explicit mode over an empty repository: tests add models, load them and send requests."""

    repository: Path
    server: TritonServer
    client: triton.InferenceServerClient = field(init=False)
    _numbers: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.client = grpc_client(self.server)  # usable from many threads

    def load(self, name: str, config: str, files: Mapping[str, bytes]) -> None:
        """Write a model and load it; ``files`` are relative to its folder ("1/model.onnx")."""
        folder = write_files(self.repository / name, {"config.pbtxt": config, **files})
        (folder / "1").mkdir(exist_ok=True)
        self.client.load_model(name)

    def refusal(self, config: str, files: Mapping[str, bytes]) -> str:
        """The backend's reason for not loading the model, in a stub process with the model ``refusals``."""
        if not self.client.is_model_ready("refusals"):
            self.load("refusals", REFUSALS_CONFIG, {"1/model.py": (REFUSALS % str(ROOT)).encode()})
        folder = write_files(self.repository.with_name(f"{self.repository.name}-bad-{next(self._numbers)}"), files)
        parsed = parse_config(config, folder / "config.pbtxt")
        parsed.backend = parsed.backend or _BACKENDS[parsed.platform]
        text = MessageToJson(parsed, preserving_proto_field_name=True)
        (reason,) = self.infer("refusals", ["REASON"], MODEL=np.array([str(folder), text], object))["REASON"]
        assert isinstance(reason, bytes) and reason.startswith(b"LoadError: "), reason
        return reason.decode()

    def said(self, pattern: str, count: int = 1) -> list[str]:
        """What the log has of ``pattern``, once it is so much: a model's lines reach the server beside its answers."""

        def found() -> list[str]:
            return re.findall(pattern, self.server.log.read_text())

        wait_until(lambda: len(found()) >= count)
        return found()

    def infer(self, model: str, outputs: Sequence[str], **inputs: Array) -> dict[str, Array]:
        """Send arrays by input name; return the named outputs."""
        answer = infer(self.client, model, inputs, outputs=[triton.InferRequestedOutput(name) for name in outputs])
        assert sorted(answer) == sorted(outputs)
        return answer

    def infer_together(
        self, model: str, outputs: Sequence[str], requests: Sequence[Mapping[str, Array]], *, more_than: int = 0
    ) -> list[Any]:
        """The answers of concurrent requests, each arrays by output name or an InferenceServerException. They are sent
        again until an execution has had ``more_than`` so many rows: on a busy machine they may arrive one by one."""

        def answer(inputs: Mapping[str, Array]) -> dict[str, Array] | triton.InferenceServerException:
            try:
                return self.infer(model, outputs, **inputs)
            except triton.InferenceServerException as error:
                return error

        answers: list[Any] = []

        def batched() -> bool:
            with ThreadPoolExecutor(len(requests)) as pool:
                answers[:] = pool.map(answer, requests)
            (stats,) = self.client.get_inference_statistics(model).model_stats  # counted after the answers
            return not more_than or max((entry.batch_size for entry in stats.batch_stats), default=0) > more_than

        wait_until(batched)
        return answers


def on_cpu(step: str, name: str = "") -> str:
    """The config of a step of dali_inception. It waits 200 ms so that concurrent requests meet in one batch."""
    config = read_config(ENSEMBLES / "dali_inception" / step / "config.pbtxt")
    config.name = name or step
    del config.model_warmup[:]  # its image is not copied
    for group in config.instance_group:
        group.kind = ModelInstanceGroup.KIND_CPU
    if config.HasField("dynamic_batching"):
        config.dynamic_batching.max_queue_delay_microseconds = 200_000
    return format_config(config)


def mapped_kilobytes(file: Path) -> list[Counter[str]]:
    """What each process that maps the file has of it in memory, by the names of /proc/PID/smaps."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            maps = re.findall(rf" {re.escape(str(file.resolve()))}\n((?:\w+: .*\n)+)", (process / "smaps").read_text())
            sizes = Counter[str]()
            for name, size in re.findall(r"(\w+): +(\d+) kB", "".join(maps)):
                sizes[name] += int(size)
            if maps:
                found.append(sizes)
    return found


@pytest.fixture(scope="module")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    repository = tmp_path_factory.mktemp("repository")
    with serving(TritonServer([repository], arguments=["--model-control-mode=explicit"])) as server:
        made = ModelServer(repository, server)
        yield made
        made.client.close()
