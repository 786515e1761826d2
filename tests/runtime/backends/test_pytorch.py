"""The pytorch backend in the real server: naming rules, batching, parameters, and what it refuses at load."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
import tritonclient.grpc as triton

from tests.runtime.backends.embedding import parameter
from triton_ensembles.ground.processes import descendants
from triton_ensembles.runtime.backends.common.model_instance import LoadError
from triton_ensembles.runtime.backends.pytorch.torch_settings import device_of

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")

if TYPE_CHECKING:
    from tests.runtime.backends.conftest import Array, ModelServer

TABLE = np.random.default_rng(0).standard_normal((100, 3)).astype(np.float32)


class Embedding(torch.nn.Module):
    """ids int64 [batch, 4] -> vectors [batch, 4, 3] and their sums [batch, 3]; ids end at 99."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.from_numpy(TABLE))

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        vectors = torch.nn.functional.embedding(ids, self.table)
        return vectors, vectors.sum(1)


class Less(torch.nn.Module):
    """Two arguments whose order matters."""

    def forward(self, much: torch.Tensor, little: torch.Tensor) -> torch.Tensor:
        return much - little


class Mode(torch.nn.Module):
    """1 if torch is in inference mode, otherwise 0."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.full_like(x, float((x + 1).is_inference()))


class Parallel(torch.nn.Module):
    """Some layers of 16 MiB: torch uses all its threads."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.ones(1 << 22) * x.mean()
        for _ in range(8):
            y = y + x.mean()
        return x + y.sum()


class Texts(torch.nn.Module):
    def forward(self, texts: list[str]) -> tuple[list[str], torch.Tensor]:
        return [text.upper() for text in texts], torch.tensor([len(text) for text in texts])


class Weighted(torch.nn.Module):
    def forward(self, tensors: dict[str, torch.Tensor]) -> torch.Tensor:
        return tensors["VALUES"] * tensors["WEIGHTS"]


class Place(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.full_like(x, float(x.is_cuda)), x * 2


class Listed(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [x]


def script(module: torch.nn.Module) -> bytes:
    return saved(torch.jit.script(module.eval()))


def saved(model: torch.jit.ScriptModule | torch.jit.ScriptFunction[..., torch.Tensor]) -> bytes:
    stream = io.BytesIO()
    torch.jit.save(model, stream)
    return stream.getvalue()


def tensors(kind: str, given: dict[str, tuple[str, str]]) -> str:
    return "".join(
        f'{kind} [ {{ name: "{name}" data_type: TYPE_{data_type} dims: [ {dims} ] }} ]\n'
        for name, (data_type, dims) in given.items()
    )


def config(
    name: str, inputs: dict[str, tuple[str, str]], outputs: dict[str, tuple[str, str]], extra: str = "", batch: int = 8
) -> str:
    waiting = "dynamic_batching { max_queue_delay_microseconds: 300000 }" if batch else ""
    return f"""name: "{name}" platform: "pytorch_libtorch" max_batch_size: {batch}
    {tensors("input", inputs)} {tensors("output", outputs)} {waiting}
    instance_group [ {{ count: 1 kind: KIND_CPU }} ]
    {extra}"""


EMBEDDING = {"IDS__0": ("INT64", "4")}, {"SUMS__1": ("FP32", "3"), "VECTORS__0": ("FP32", "4, 3")}
ROW = ("FP32", "3")
IN, OUT = {"x": ROW}, {"OUTPUT__0": ROW}


def row(*values: float) -> Array:
    return np.array([values], np.float32)


@pytest.fixture(scope="module")
def model(model_server: ModelServer) -> str:
    model_server.load("embedding", config("embedding", *EMBEDDING), {"1/model.pt": script(Embedding())})
    return "embedding"


def test_requests_are_joined_and_a_bad_one_fails_alone(model_server: ModelServer, model: str) -> None:
    """Otherwise one id beyond the table would fail the whole batch."""
    given = [np.random.default_rng(seed).integers(0, 100, (1 + seed % 2, 4)) for seed in range(5)]
    given[2] = np.full((1, 4), 999)

    def outcome(array: Array) -> dict[str, Array] | str:
        try:
            return model_server.infer(model, ["VECTORS__0", "SUMS__1"], IDS__0=array)
        except triton.InferenceServerException as error:
            return str(error)

    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(outcome, given))
    assert answers[2] == "[StatusCode.INTERNAL] PyTorch execute failure: index out of range in self"
    for index in (0, 1, 3, 4):
        answer = answers[index]
        assert isinstance(answer, dict)
        np.testing.assert_array_equal(answer["VECTORS__0"], TABLE[given[index]])
        np.testing.assert_allclose(answer["SUMS__1"], TABLE[given[index]].sum(1), rtol=1e-5, atol=1e-6)
    model_server.wait_for_a_batch(model, more_than=2)


def test_only_requested_outputs_are_returned(model_server: ModelServer, model: str) -> None:
    assert model_server.infer(model, ["SUMS__1"], IDS__0=np.zeros((1, 4), np.int64))["SUMS__1"].shape == (1, 3)


@pytest.mark.parametrize(
    ("first", "second", "sign"),
    [
        ("A__0", "B__1", 1),
        ("A__1", "B__0", -1),
        ("much", "little", 1),
        ("little", "much", -1),
        ("INPUT", "OTHER", 1),
        ("my__much", "little", 1),
        ("A__0__1", "B__1", 1),
    ],
    ids=["index", "swapped", "arguments", "arguments-swapped", "order", "mixed", "two-marks"],
)
def test_names_of_inputs(model_server: ModelServer, first: str, second: str, sign: int) -> None:
    """Otherwise a config of the native backend would load here and compute with its inputs in another order."""
    name = f"less-{first}-{second}"
    text = config(name, {first: ROW, second: ROW}, {"OUTPUT__0": ROW}, batch=1)
    model_server.load(name, text, {"1/model.pt": script(Less())})
    given = {first: row(5, 6, 7), second: row(1, 2, 3)}
    np.testing.assert_array_equal(model_server.infer(name, ["OUTPUT__0"], **given)["OUTPUT__0"], row(4, 4, 4) * sign)
    guessed = f"{name}: the inputs {first}, {second} do not end in __INDEX, so their order is used"
    assert (guessed in model_server.server.log.read_text()) == (first in ("INPUT", "my__much", "A__0__1"))


def test_texts_are_lists(model_server: ModelServer) -> None:
    """Otherwise models with a tokenizer of their own could not be served: torch has no tensors of texts."""
    inputs, outputs = {"texts": ("STRING", "-1")}, {"UPPER__0": ("STRING", "-1"), "LENGTHS__1": ("INT64", "-1")}
    model_server.load("texts", config("texts", inputs, outputs, batch=0), {"1/model.pt": script(Texts())})
    answer = model_server.infer("texts", list(outputs), texts=np.array([b"abc", b"you?"], object))
    assert [text.decode() for text in answer["UPPER__0"]] == ["ABC", "YOU?"]
    assert answer["LENGTHS__1"].tolist() == [3, 4]
    with pytest.raises(triton.InferenceServerException, match=r"INVALID_ARGUMENT.*texts .*UTF-8"):
        model_server.infer("texts", ["LENGTHS__1"], texts=np.array([b"\xff"], object))


def test_a_dictionary_of_inputs(model_server: ModelServer) -> None:
    text = config("weighted", {"VALUES": ROW, "WEIGHTS": ROW}, {"OUTPUT__0": ROW}, batch=1)
    model_server.load("weighted", text, {"1/model.pt": script(Weighted())})
    answer = model_server.infer("weighted", ["OUTPUT__0"], VALUES=row(1, 2, 3), WEIGHTS=row(4, 5, 6))
    np.testing.assert_array_equal(answer["OUTPUT__0"], row(4, 10, 18))


@pytest.mark.parametrize(("value", "inference"), [("", 1), ("true", 1), ("0", 0), ("FALSE", 0)])
def test_inference_mode(model_server: ModelServer, value: str, inference: int) -> None:
    extra = parameter("INFERENCE_MODE", value) if value else ""
    model_server.load(f"mode{value}", config(f"mode{value}", IN, OUT, extra), {"1/model.pt": script(Mode())})
    assert model_server.infer(f"mode{value}", ["OUTPUT__0"], x=row(1, 2, 3))["OUTPUT__0"].tolist() == [[inference] * 3]


def test_threads(model_server: ModelServer) -> None:
    """Otherwise a config's number of threads would have no effect, or an instance would not get its cores."""
    cores = len(os.sched_getaffinity(0))
    threads = {}
    for name, count in (("one", 1), ("five", 5), ("default", None)):
        extra = "" if count is None else parameter("INTRA_OP_THREAD_COUNT", str(count))
        model_server.load(
            f"threads-{name}", config(f"threads-{name}", IN, OUT, extra), {"1/model.pt": script(Parallel())}
        )
        process = stub(model_server, f"threads-{name}")
        model_server.infer(f"threads-{name}", ["OUTPUT__0"], x=row(1, 2, 3))
        threads[name] = len(list(Path(f"/proc/{process}/task").iterdir()))
    # torch has more than one pool of that many threads, less the calling one.
    pools, rest = divmod(threads["five"] - threads["one"], 4)
    assert pools >= 1 and rest == 0
    assert threads["default"] - threads["one"] == pools * (cores - 1)


def stub(model_server: ModelServer, model: str) -> int:
    """The process of the model's instance."""
    (found,) = (
        pid
        for pid in descendants(model_server.server.pid)
        if model.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    )
    return found


def test_the_memory_of_a_run_is_kept_for_the_next(model_server: ModelServer) -> None:
    """Otherwise the system clears the pages of every layer in every run, a third of all time at large batches."""
    model_server.load("kept", config("kept", IN, OUT), {"1/model.pt": script(Parallel())})

    def faults() -> int:
        for _ in range(10):
            model_server.infer("kept", ["OUTPUT__0"], x=row(1, 2, 3))
        status = Path(f"/proc/{stub(model_server, 'kept')}/stat").read_text()
        return int(status.rpartition(")")[2].split()[7])  # minflt, proc(5)

    before = faults()
    assert faults() - before < 10_000  # a layer is 4096 pages, and the heap takes some runs to settle


def test_all_parameters_of_the_native_backend(model_server: ModelServer) -> None:
    """Otherwise a config for NVIDIA's image would cause warnings here, or would claim what it cannot do."""
    values = {
        "DISABLE_OPTIMIZED_EXECUTION": "true",
        "DISABLE_CUDNN": "true",
        "ENABLE_CACHE_CLEANING": "true",
        "ENABLE_JIT_EXECUTOR": "false",
        "ENABLE_JIT_PROFILING": "false",
        "ENABLE_TENSOR_FUSER": "true",
        "ENABLE_NVFUSER": "true",
        "ENABLE_WEIGHT_SHARING": "true",
        "INTER_OP_THREAD_COUNT": "1",
        "INFERENCE_MOD": "true",
    }
    extra = "".join(parameter(*item) for item in values.items())
    model_server.load("options", config("options", *EMBEDDING, extra), {"1/model.pt": script(Embedding())})
    given = np.array([[1, 2, 3, 4]])
    for _ in range(3):  # TorchScript optimizes at the second run
        answer = model_server.infer("options", ["VECTORS__0"], IDS__0=given)
        np.testing.assert_array_equal(answer["VECTORS__0"], TABLE[given])
    log = model_server.server.log.read_text()
    assert re.findall(r"options: parameter (\S+) of the config is unknown to this backend", log) == ["INFERENCE_MOD"]
    assert re.findall(r"options: parameter (\S+) has no effect: ", log) == ["ENABLE_NVFUSER", "ENABLE_WEIGHT_SHARING"]


@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        ("half", lambda x: x.half(), "is TYPE_FP32 in the config, but the model returned TYPE_FP16"),
        ("bfloat", lambda x: x.bfloat16(), "is TYPE_FP32 in the config, but the model returned torch.bfloat16"),
        (
            "short",
            lambda x: x[:, :2],
            r"must be \[2, 3\] with the batch axis according to the config, .* returned \[2, 2\]",
        ),
        (
            "mean",
            lambda x: x.mean(0, True),
            r"must be \[2, 3\] with the batch axis according to the config, .* returned \[1, 3\]",
        ),
    ],
)
def test_an_output_that_differs_from_the_config_is_refused(
    model_server: ModelServer, name: str, function: Callable[[torch.Tensor], torch.Tensor], message: str
) -> None:
    """Otherwise clients would read bytes of another type, or the rows of another client."""
    model_server.load(name, config(name, IN, OUT), {"1/model.pt": saved(torch.jit.trace(function, torch.ones(2, 3)))})
    with pytest.raises(triton.InferenceServerException, match=rf'INTERNAL\] output "OUTPUT__0" {message}'):
        model_server.infer(name, ["OUTPUT__0"], x=np.ones((2, 3), np.float32))


@pytest.mark.parametrize(
    ("module", "inputs", "outputs", "extra", "message"),
    [
        (Less(), IN, OUT, "", r"the config has 1 input \(x\), but the model's forward\(\) takes 2 \(much, little\)"),
        (
            Less(), {"A__0": ROW, "B__2": ROW}, OUT, "",
            r"inputs A__0, B__2 are arguments 0, 2 of the model's forward\(\), .* each of 0 to 1 must appear once",
        ),
        (Less(), {"A__0": ROW, "B__0": ROW}, OUT, "", r"are arguments 0, 0 of the model's forward\(\)"),
        (Less(), {"A": ROW, "B": ROW}, {"O__1": ROW}, "", r'output "O__1" is output 1, but the model has 1, from 0'),
        (Less(), {"A": ROW, "B": ROW}, {"O": ROW, "P": ROW}, "", r'output "P" is output 1, but the model has 1'),
        (Listed(), IN, OUT, "", r'output "OUTPUT__0" is TYPE_FP32 .* but that has a List\[Tensor\]'),
        (Texts(), IN, OUT, "", r'input "x" is TYPE_FP32 in the config, which needs a Tensor .* has a List\[str\]'),
        (Listed(), {"x": ("UINT32", "3")}, OUT, "", r'input "x" is TYPE_UINT32, which Triton.s PyTorch backend does'),
        (Listed(), {"x": ("STRING", "3")}, OUT, "", r"as a list: it must have one axis, the batch axis included"),
        (Less(), IN, OUT, parameter("INFERENCE_MODE", "maybe"), r'INFERENCE_MODE is "maybe", but must be true or'),
        (Less(), IN, OUT, parameter("INTRA_OP_THREAD_COUNT", "-1"), r'INTRA_OP_THREAD_COUNT is "-1", but must be a'),
        (Less(), IN, OUT, parameter("INTER_OP_THREAD_COUNT", "x"), r'INTER_OP_THREAD_COUNT is "x", but must be a'),
    ],
)  # fmt: skip
def test_wrong_configs_and_files_are_refused_at_load(
    model_server: ModelServer, module: torch.nn.Module, inputs: object, outputs: object, extra: str, message: str
) -> None:
    """Otherwise the fault of a config would show with the first request, or not at all."""
    text = config("bad", inputs, outputs, extra)  # type: ignore[arg-type]
    assert re.search(message, model_server.refusal("bad", text, {"1/model.pt": script(module)}))


@pytest.mark.parametrize("content", [b"", b"not a model", b"PK\x05\x06" + bytes(18)])
def test_a_file_that_is_not_torchscript_is_refused(model_server: ModelServer, content: bytes) -> None:
    reason = model_server.refusal("broken", config("broken", IN, OUT), {"1/model.pt": content})
    assert re.search(r"torch 2\S+ cannot load model\.pt as TorchScript: \S+", reason)


def test_weights_without_a_program(model_server: ModelServer) -> None:
    """Otherwise users could not tell torch.save() and TorchScript apart, whose files are both called model.pt."""
    stream = io.BytesIO()
    torch.save(Embedding().state_dict(), stream)
    reason = model_server.refusal("broken", config("broken", IN, OUT), {"1/model.pt": stream.getvalue()})
    assert re.search(r"cannot load model\.pt as TorchScript: \S+", reason)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="NO CUDA: KIND_GPU is not tested here")
def test_a_gpu_computes(model_server: ModelServer) -> None:
    """Otherwise KIND_GPU would compute on the CPU, or its answers would not come back."""
    text = config("gpu", IN, {"ON_GPU__0": ROW, "TWICE__1": ROW}).replace("KIND_CPU", "KIND_GPU gpus: [ 0 ]")
    model_server.load("gpu", text, {"1/model.pt": script(Place())})
    answer = model_server.infer("gpu", ["ON_GPU__0", "TWICE__1"], x=row(1, 2, 3))
    assert answer["ON_GPU__0"].tolist() == [[1, 1, 1]]
    assert answer["TWICE__1"].tolist() == [[2, 4, 6]]


@pytest.mark.skipif(torch.cuda.is_available(), reason="this torch has CUDA")
def test_a_gpu_without_cuda() -> None:
    """Otherwise a config for a GPU would compute on the CPU, and nobody would know why it is slow.

    Where there is no GPU at all Triton itself refuses the config; this is a GPU and a torch for the CPU.
    """
    assert device_of(None).type == "cpu"
    with pytest.raises(LoadError, match=r"the config asks for KIND_GPU, but torch 2\S+ finds no CUDA here"):
        device_of(0)
