"""Rules whose bad example Triton loads: the effect that they report on requests is real."""

import json
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException

import pytest

from tests.checking.packing import MODEL_PY
from tests.checking.served import ModelLoader
from triton_ensembles.checking.examples import SCALE, ensemble, io_tensor, python_model, step
from triton_ensembles.checking.registry import RULES
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage

# Models, most of them the bad examples of rules: the shape of a request, and what the server says to it.
ANSWERS = [
    ("ensemble-batch-of-one", [2, 3, 4], "unexpected shape for input 'X' for model 'whole'"),
    ("ensemble-batch-of-one", [1, 3, 4], '"outputs"'),
    ("ensemble-batch-too-large", [16, 4], "batch-size must be <= 8"),
    ("no-batching", [4], '"outputs"'),
    ("any-rows", [9, 4], "batch-size must be <= 8"),
    ("any-rows", [8, 4], '"outputs"'),
    ("input-name-twice", [1, 4], "expected 2 inputs but got 1"),
    ("tensors-missing", [1, 4], "expected 0 inputs but got 1 inputs"),
    ("model-py-called-model", [1, 4], "Model 'scalar' is not ready"),
    ("model-call-input", [1, 4], "unexpected inference input 'x' for model 'scaler'"),
    ("model-call-output", [1, 4], "unexpected inference output 'y' for model 'scaler'"),
]
UNHEALTHY = "state-data-type-missing"
ENDING = "state-input-name-missing"
ROWS = io_tensor("X", dims="-1, 4")
COUNTING = MODEL_PY.replace('"Y", x', '"Y", x[:, :1] * 0 + len(requests)')


def counting(more: str, delay: int) -> Example:
    """A model that answers with the number of requests in its batch, which waits for two up to ``delay`` seconds."""
    batching = f"preferred_batch_size: [ 2 ], max_queue_delay_microseconds: {delay * 1_000_000}"
    inputs = io_tensor("X", dims="-1", more=more)
    config = python_model(f"dynamic_batching {{ {batching} }}", inputs=inputs, outputs=io_tensor("Y", dims="1"))
    return Example(config, {"1/model.py": COUNTING})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelLoader]:
    folder = tmp_path_factory.mktemp("effects")
    models = folder / "models"
    stage(Example(python_model(), {"1/model.py": MODEL_PY.replace('"Y", x', '"Y", x * 2')}), models, "double")
    stage(Example(ensemble(SCALE, size=0)), models, "no-batching")
    over = ensemble(step("double", {"X": "X"}, {"Y": "X"}), step("double", {"X": "X"}, {"Y": "Y"}))
    stage(Example(over), models, "overwritten")
    stage(Example(ensemble(SCALE, size=0, inputs=ROWS, outputs=io_tensor("Y", dims="-1, 4"))), models, "any-rows")
    stage(counting("", 1), models, "of-equal-shapes")
    stage(counting("allow_ragged_batch: true", 60), models, "ragged")
    for rule in RULES:
        if rule.id in {*(model for model, _, _ in ANSWERS), UNHEALTHY, ENDING} and rule.bad:
            stage(rule.bad, models, rule.id)
    with ModelLoader(models, folder) as server:
        yield server


def ask(server: ModelLoader, model: str, shape: list[int], timeout: float = 120, sequence: int = 0) -> str:
    """What Triton says to a request with FP32 zeros as X; ``sequence`` is the id of one that ends with it."""
    for name in ("scaler", model):  # the first is called; a server may be another one than before
        assert server.load_surely(name).loaded
    zeros = [0.0] * math.prod(shape)
    body: dict[str, object] = {"inputs": [{"name": "X", "datatype": "FP32", "shape": shape, "data": zeros}]}
    if sequence:
        body["parameters"] = {"sequence_id": sequence, "sequence_start": True, "sequence_end": True}
    return server.ask(model, body, timeout)


@pytest.mark.parametrize(("model", "shape", "words"), ANSWERS)
def test_what_loads_and_answers_or_refuses_such_a_request(
    server: ModelLoader, model: str, shape: list[int], words: str
) -> None:
    """Otherwise the checker refuses, or warns of, a model that works, or passes one that does not."""
    assert words in ask(server, model, shape)


@pytest.mark.parametrize(("model", "together"), [("of-equal-shapes", 1), ("ragged", 2)])
def test_requests_of_two_lengths_are_batched_only_where_the_input_may_be_ragged(
    server: ModelLoader, model: str, together: int
) -> None:
    """Otherwise the note of dynamic-batching-equal-shapes is wrong, or its cure is."""
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda size: ask(server, model, [1, size]), (3, 4)))
    assert [json.loads(answer)["outputs"][0]["data"] for answer in answers] == [[together]] * 2


def test_a_state_that_ends_the_process_of_its_model(server: ModelLoader) -> None:
    """Otherwise the checker refuses a model that works."""
    assert "is not healthy" in ask(server, UNHEALTHY, [1, 4], sequence=1)


@pytest.mark.parametrize(("model", "seconds", "sequence"), [("overwritten", 3, 0), (ENDING, 120, 1)])
def test_a_request_that_hangs_or_ends_the_server(
    server: ModelLoader, model: str, seconds: float, sequence: int
) -> None:
    """Otherwise the checker refuses a model that works, or passes one that takes all others with it."""
    try:
        with pytest.raises((OSError, HTTPException)):
            ask(server, model, [1, 4], seconds, sequence)
    finally:
        server.kill()
