"""The pytorch backend in the real server: naming rules, batching, parameters, and what it refuses at load."""

import io
import os
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import tritonclient.grpc as triton

from tests.configs import ON_CPU, tensors
from tests.runtime.backends.conftest import Array, ModelServer
from tests.runtime.backends.embedding import parameter
from triton_ensembles.checking.rules.config.parameters import PARAMETERS as CHECKED
from triton_ensembles.ground.processes import command_line, descendants
from triton_ensembles.runtime.backends.common.model_instance import LoadError
from triton_ensembles.runtime.backends.pytorch.parameters import PARAMETERS, SWITCHES
from triton_ensembles.runtime.backends.pytorch.torch_settings import device_of

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")

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


class Wrong(torch.nn.Module):
    """Of another type, or of another shape, as the first number of the input says."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        number = int(x[0, 0])
        if number < 2:
            return x.half() if number == 0 else x.to(torch.bfloat16)
        return x[:, :2] if number == 2 else x.mean(0, True)


class Listed(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [x]


def script(module: torch.nn.Module) -> bytes:
    stream = io.BytesIO()
    torch.jit.save(torch.jit.script(module.eval()), stream)
    return stream.getvalue()


def config(name: str, inputs: str, outputs: str, extra: str = "", batch: int = 8) -> str:
    waiting = "dynamic_batching { max_queue_delay_microseconds: 300000 }" if batch else ""
    return f"""name: "{name}" platform: "pytorch_libtorch" max_batch_size: {batch}
    {tensors(inputs, outputs)} {ON_CPU} {waiting} {extra}"""


EMBEDDING = "IDS__0:INT64:4", "SUMS__1:FP32:3 VECTORS__0:FP32:4,3"
IN, OUT = "x:FP32:3", "OUTPUT__0:FP32:3"


def row(*values: float) -> Array:
    return np.array([values], np.float32)


def test_requests_are_joined_and_a_bad_one_fails_alone(model_server: ModelServer) -> None:
    """Otherwise one id beyond the table would fail the whole batch."""
    model_server.load("embedding", config("embedding", *EMBEDDING), {"1/model.pt": script(Embedding())})
    given = [np.random.default_rng(seed).integers(0, 100, (1 + seed % 2, 4)) for seed in range(5)]
    given[2] = np.full((1, 4), 999)
    answers = model_server.infer_together(
        "embedding", ["VECTORS__0", "SUMS__1"], [{"IDS__0": array} for array in given], more_than=2
    )
    assert str(answers[2]) == "[StatusCode.INTERNAL] PyTorch execute failure: index out of range in self"
    for index in (0, 1, 3, 4):
        np.testing.assert_array_equal(answers[index]["VECTORS__0"], TABLE[given[index]])
        np.testing.assert_allclose(answers[index]["SUMS__1"], TABLE[given[index]].sum(1), rtol=1e-5, atol=1e-6)
    assert model_server.infer("embedding", ["SUMS__1"], IDS__0=given[0])["SUMS__1"].shape == (1, 3)


@pytest.mark.parametrize(
    ("first", "second", "sign"), [("A__1", "B__0", -1), ("little", "much", -1), ("A__0__1", "B__1", 1)]
)
def test_inputs_are_the_arguments_that_their_names_say(
    model_server: ModelServer, first: str, second: str, sign: int
) -> None:
    """Otherwise a config of the native backend would load here and compute with its inputs in another order."""
    name = f"less-{first}"
    model_server.load(
        name, config(name, f"{first}:FP32:3 {second}:FP32:3", OUT, batch=1), {"1/model.pt": script(Less())}
    )
    given = {first: row(5, 6, 7), second: row(1, 2, 3)}
    np.testing.assert_array_equal(model_server.infer(name, ["OUTPUT__0"], **given)["OUTPUT__0"], row(4, 4, 4) * sign)


def test_texts_are_lists(model_server: ModelServer) -> None:
    """Otherwise models with a tokenizer of their own could not be served: torch has no tensors of texts."""
    outputs = "UPPER__0:STRING:-1 LENGTHS__1:INT64:-1"
    model_server.load("texts", config("texts", "texts:STRING:-1", outputs, batch=0), {"1/model.pt": script(Texts())})
    answer = model_server.infer("texts", ["UPPER__0", "LENGTHS__1"], texts=np.array([b"abc", b"you?"], object))
    assert [text.decode() for text in answer["UPPER__0"]] == ["ABC", "YOU?"]
    assert answer["LENGTHS__1"].tolist() == [3, 4]
    with pytest.raises(triton.InferenceServerException, match=r"INVALID_ARGUMENT.*texts .*UTF-8"):
        model_server.infer("texts", ["LENGTHS__1"], texts=np.array([b"\xff"], object))


def test_a_dictionary_of_inputs(model_server: ModelServer) -> None:
    text = config("weighted", "VALUES:FP32:3 WEIGHTS:FP32:3", OUT, batch=1)
    model_server.load("weighted", text, {"1/model.pt": script(Weighted())})
    answer = model_server.infer("weighted", ["OUTPUT__0"], VALUES=row(1, 2, 3), WEIGHTS=row(4, 5, 6))
    np.testing.assert_array_equal(answer["OUTPUT__0"], row(4, 10, 18))


@pytest.mark.parametrize(("value", "inference"), [("", 1), ("FALSE", 0)])
def test_inference_mode(model_server: ModelServer, value: str, inference: int) -> None:
    extra = parameter("INFERENCE_MODE", value) if value else ""
    model_server.load(f"mode{value}", config(f"mode{value}", IN, OUT, extra), {"1/model.pt": script(Mode())})
    assert model_server.infer(f"mode{value}", ["OUTPUT__0"], x=row(1, 2, 3))["OUTPUT__0"].tolist() == [[inference] * 3]


@pytest.mark.slow
def test_threads_and_memory(model_server: ModelServer) -> None:
    """Otherwise a config's number of threads would have no effect, or an instance would not get its cores; and the
    system would clear the pages of every layer in every run, a third of all time at large batches."""
    cores = len(os.sched_getaffinity(0))
    threads = {}
    for name, count in (("one", 1), ("five", 5), ("default", None)):
        extra = "" if count is None else parameter("INTRA_OP_THREAD_COUNT", str(count))
        model = f"threads-{name}"
        model_server.load(model, config(model, IN, OUT, extra), {"1/model.pt": script(Parallel())})
        (pid,) = (pid for pid in descendants(model_server.server.pid) if model in command_line(pid))
        process = Path(f"/proc/{pid}")
        model_server.infer(model, ["OUTPUT__0"], x=row(1, 2, 3))
        threads[name] = len(list((process / "task").iterdir()))
    # torch has more than one pool of that many threads, less the calling one.
    pools, rest = divmod(threads["five"] - threads["one"], 4)
    assert pools >= 1 and rest == 0
    assert threads["default"] - threads["one"] == pools * (cores - 1)

    def faults() -> int:
        for _ in range(10):
            model_server.infer(model, ["OUTPUT__0"], x=row(1, 2, 3))
        return int((process / "stat").read_text().rpartition(")")[2].split()[7])  # minflt, proc(5)

    before = faults()
    assert faults() - before < 10_000  # a layer is 4096 pages, and the heap takes some runs to settle


def test_all_parameters_of_the_native_backend(model_server: ModelServer) -> None:
    """Otherwise a config for NVIDIA's image would not load here, or would claim what it cannot do."""
    keys = "DISABLE_OPTIMIZED_EXECUTION DISABLE_CUDNN ENABLE_CACHE_CLEANING ENABLE_TENSOR_FUSER ENABLE_NVFUSER"
    keys += " ENABLE_WEIGHT_SHARING INTER_OP_THREAD_COUNT"
    extra = parameter("ENABLE_JIT_EXECUTOR", "false") + parameter("ENABLE_JIT_PROFILING", "false")
    extra += "".join(parameter(key, "1") for key in keys.split())
    model_server.load("options", config("options", *EMBEDDING, extra), {"1/model.pt": script(Embedding())})
    given = np.array([[1, 2, 3, 4]])
    for _ in range(3):  # TorchScript optimizes at the second run
        answer = model_server.infer("options", ["VECTORS__0"], IDS__0=given)
        np.testing.assert_array_equal(answer["VECTORS__0"], TABLE[given])
    without = ["DISABLE_CUDNN", "ENABLE_CACHE_CLEANING", "ENABLE_NVFUSER", "ENABLE_WEIGHT_SHARING"]
    assert model_server.said(r"options: parameter (\S+) has no effect: ", len(without)) == without


def test_the_table_of_parameters_has_what_the_backend_and_the_checker_read() -> None:
    """Otherwise a switch that tune has found is one that the server ignores, or check calls it misspelt."""
    assert PARAMETERS.keys() == set(CHECKED["pytorch"])
    assert set(SWITCHES) == {
        *("INFERENCE_MODE", "DISABLE_OPTIMIZED_EXECUTION", "ENABLE_JIT_EXECUTOR", "ENABLE_JIT_PROFILING"),
        "ENABLE_TENSOR_FUSER",
    }


def test_an_output_that_differs_from_the_config_is_refused(model_server: ModelServer) -> None:
    """Otherwise clients would read bytes of another type, or the rows of another client."""
    model_server.load("wrong", config("wrong", IN, OUT), {"1/model.pt": script(Wrong())})
    shape = r"must be \[2, 3\] with the batch axis according to the config, .* returned"
    for number, message in enumerate(
        (
            "is TYPE_FP32 in the config, but the model returned TYPE_FP16",
            "is TYPE_FP32 in the config, but the model returned torch.bfloat16",
            rf"{shape} \[2, 2\]",
            rf"{shape} \[1, 3\]",
        )
    ):
        with pytest.raises(triton.InferenceServerException, match=rf'INTERNAL\] output "OUTPUT__0" {message}'):
            model_server.infer("wrong", ["OUTPUT__0"], x=np.full((2, 3), number, np.float32))


@pytest.mark.parametrize(
    ("module", "inputs", "outputs", "extra", "message"),
    [
        (Less(), IN, OUT, "", r"the config has 1 input \(x\), but the model's forward\(\) takes 2 \(much, little\)"),
        (Less(), "A__0:FP32:3 B__2:FP32:3", OUT, "", r"A__0, B__2 are arguments 0, 2 .* 0 to 1 must appear once"),
        (Less(), "A__0:FP32:3 B__0:FP32:3", OUT, "", r"are arguments 0, 0 of the model's forward\(\)"),
        (Less(), "A:FP32:3 B:FP32:3", "O__1:FP32:3", "", r'output "O__1" is output 1, but the model has 1, from 0'),
        (Less(), "A:FP32:3 B:FP32:3", "O:FP32:3 P:FP32:3", "", r'output "P" is output 1, but the model has 1'),
        (Listed(), IN, OUT, "", r'output "OUTPUT__0" is TYPE_FP32 .* but that has a List\[Tensor\]'),
        (Texts(), IN, OUT, "", r'input "x" is TYPE_FP32 in the config, which needs a Tensor .* has a List\[str\]'),
        (Listed(), "x:UINT32:3", OUT, "", r'input "x" is TYPE_UINT32, which Triton.s PyTorch backend does'),
        (Listed(), "x:STRING:3", OUT, "", r"as a list: it must have one axis, the batch axis included"),
        (Less(), IN, OUT, parameter("INFERENCE_MODE", "maybe"), r'INFERENCE_MODE is "maybe", but must be true or'),
        (Less(), IN, OUT, parameter("INTRA_OP_THREAD_COUNT", "-1"), r'INTRA_OP_THREAD_COUNT is "-1", but must be a'),
        (Less(), IN, OUT, parameter("INTER_OP_THREAD_COUNT", "x"), r'INTER_OP_THREAD_COUNT is "x", but must be a'),
    ],
)
def test_wrong_configs_and_files_are_refused_at_load(
    model_server: ModelServer, module: torch.nn.Module, inputs: str, outputs: str, extra: str, message: str
) -> None:
    """Otherwise the fault of a config would show with the first request, or not at all."""
    text = config("bad", inputs, outputs, extra)
    assert re.search(message, model_server.refusal(text, {"1/model.pt": script(module)}))


def test_a_file_that_is_not_torchscript_is_refused(model_server: ModelServer) -> None:
    """Otherwise users could not tell torch.save() and TorchScript apart, whose files are both called model.pt."""
    stream = io.BytesIO()
    torch.save(Embedding().state_dict(), stream)
    for content in (b"", b"not a model", b"PK\x05\x06" + bytes(18), stream.getvalue()):
        reason = model_server.refusal(config("broken", IN, OUT), {"1/model.pt": content})
        assert re.search(r"torch 2\S+ cannot load model\.pt as TorchScript: \S+", reason)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this torch has CUDA")
def test_a_gpu_without_cuda() -> None:
    """Otherwise a config for a GPU would compute on the CPU, and nobody would know why it is slow. Where there is no
    GPU at all Triton itself refuses the config; this is a GPU and a torch for the CPU."""
    assert device_of(None).type == "cpu"
    with pytest.raises(LoadError, match=r"the config asks for KIND_GPU, but torch 2\S+ finds no CUDA here"):
        device_of(0)
