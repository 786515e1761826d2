"""Ensembles that no random DAG is like: a client sees the same of them as drawn and as fused, from the real server."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc

from tests.configs import ON_CPU, in_a_row, tensors
from tests.ensembles.clients import infer
from tests.files import write_files
from tests.hosting.archives import ensemble, model, model_py
from tests.running import grpc_client, serving
from tests.runtime.fused.forms import stage_both, stage_fused_form
from triton_ensembles.server.triton_server import TritonServer

ROUTER = """call = pb_utils.InferenceRequest(model_name="small" if x[0] < 10 else "large",
                requested_output_names=["Y"], inputs=[pb_utils.Tensor("X", x)])
            x = pb_utils.get_output_tensor_by_name(call.exec(), "Y").as_numpy()"""
TIMES = model("times2", execute="x = x * 2") | model("times3", execute="x = x * 3")
INNER = TIMES | ensemble("small", "times2", "times3")

ODD = """if request.request_id() == "surrogate":
                raise ValueError("bad \\udc80")
            if request.request_id() == "twice":
                answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("Y", x), pb_utils.Tensor("Y", x + 5)]))
                continue
            if request.request_id() == "rows":
                x = x[:0]"""
ROWS = f"max_batch_size: 8\n{tensors('X:FP32:3', 'Y:FP32:3')}"

WARM = f"max_batch_size: 4\n{tensors('X:FP32:2', 'Y:STRING:1')}"
SAMPLE = '{ name: "a" %s inputs { key: "X" value { data_type: TYPE_FP32 dims: [ 2 ] %s } } }'
SAMPLES = [SAMPLE % ("batch_size: 3", 'input_data_file: "two"'), SAMPLE % ("batch_size: 1 count: 2", "zero_data: true")]

Files = Mapping[str, bytes | str]
ENSEMBLES: dict[str, Files] = {
    "nested": INNER | ensemble("ensemble", "times2", "small"),
    "odd": {
        "ensemble/config.pbtxt": in_a_row("first", "plain") + ROWS,
        "first/config.pbtxt": f'backend: "python"\n{ROWS}{ON_CPU}',
        "first/1/model.py": model_py(execute=ODD),
        "plain/config.pbtxt": f'backend: "python"\n{ROWS}{ON_CPU}',
        "plain/1/model.py": model_py(execute="x = x + 1"),
    },
    "warm": {
        "ensemble/config.pbtxt": in_a_row("seen") + WARM,
        "seen/config.pbtxt": f'backend: "python"\n{WARM}{ON_CPU}model_warmup [ {", ".join(SAMPLES)} ]\n',
        "seen/1/model.py": model_py(
            initialize="self.seen = []",
            execute="""self.seen.append((request.request_id(), x.tolist()))
            x = np.array([[str(self.seen).encode()]], dtype=object)""",
        ),
        "seen/warmup/two": np.array([1, 2], np.float32).tobytes(),
    },
}
ROUTED: Files = INNER | ensemble("large", "times2", "small") | ensemble("ensemble", "times2", "router")


def written(folder: Path, name: str, files: Files) -> Path:
    return write_files(folder / "written" / name, {"ensemble.toml": 'description = "Of a test"\n', **files})


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, grpc.InferenceServerClient]]:
    """Clients of two servers, which have the ensembles as drawn and as fused."""
    folder = tmp_path_factory.mktemp("forms")
    for name, files in ENSEMBLES.items():
        stage_both(written(folder, name, files), folder)
    stage_fused_form(written(folder, "routed", ROUTED | model("router", execute=ROUTER)), folder / "fused")
    drawn, fused = (TritonServer([folder / form], log=folder / f"{form}.log") for form in ("drawn", "fused"))
    with serving(drawn), serving(fused), grpc_client(drawn) as first, grpc_client(fused) as second:
        yield {"drawn": first, "fused": second}


def ask(client: grpc.InferenceServerClient, model: str, x: Any, word: str = "") -> Any:
    """The elements of Y, or the error without the folders in its traceback."""
    try:
        given = {"X": np.array(x, np.float32)}
        return infer(client, model, given, request_id=word, client_timeout=300)["Y"].tolist()
    except grpc.InferenceServerException as error:
        return re.sub(r"/[^\n:]*/", "", str(error.message()))


TOO_FEW = "input byte size mismatch for input 'X' for model 'odd.plain'. Expected 12, got 0"


@pytest.mark.parametrize(
    ("model", "x", "word", "expected"),
    [
        ("nested", [1], "", [12]),  # otherwise whoever nests ensembles has to write one into the other
        ("odd", [[0, 0, 0]], "rows", TOO_FEW),
        ("odd", [[0, 0, 0]], "twice", [[1, 1, 1]]),
    ],
)
def test_a_client_sees_the_same(
    forms: dict[str, grpc.InferenceServerClient], model: str, x: Any, word: str, expected: Any
) -> None:
    """Otherwise what is deployed gives another number, or another error, than what was drawn."""
    drawn, fused = (ask(forms[form], model, x, word) for form in ("drawn", "fused"))
    assert drawn == fused
    assert expected in drawn if isinstance(expected, str) else expected == drawn


def test_a_text_that_is_no_utf8_fails_its_batch_and_no_other(forms: dict[str, grpc.InferenceServerClient]) -> None:
    """Bad input makes such texts (errors="surrogateescape"). The stub of the drawn form dies of it."""
    assert "ValueError: bad \\udc80" in ask(forms["fused"], "odd", [[0, 0, 0]], "surrogate")
    assert ask(forms["fused"], "odd", [[0, 0, 0]]) == [[1, 1, 1]]


def test_a_step_sees_the_same_warm_ups(forms: dict[str, grpc.InferenceServerClient]) -> None:
    drawn, fused = (ask(forms[form], "warm", [[7, 7]], "real")[0][0].decode() for form in ("drawn", "fused"))
    assert fused == drawn
    assert drawn.count("[1.0, 2.0]") == 3 and drawn.count("[0.0, 0.0]") == 2


def test_a_router_reaches_ensembles(forms: dict[str, grpc.InferenceServerClient]) -> None:
    """Otherwise each language of a service needs an archive of its own."""
    assert [ask(forms["fused"], "routed", [value]) for value in (1, 10)] == [[12], [240]]
