"""What a step returns or raises between others is seen by a client as in the drawn form, from the real server."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc

from tests.ensembles.clients import infer
from tests.files import write_files
from tests.hosting.archives import CONFIG, ensemble, model_py
from tests.runtime.fused.forms import both_forms

ODD = model_py(
    execute="""if request.request_id() == "surrogate":
                raise ValueError("bad \\udc80")
            if request.request_id() == "twice":
                answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("Y", x), pb_utils.Tensor("Y", x + 5)]))
                continue
            if request.request_id() == "rows":
                x = x[:0]"""
)
PLAIN = model_py(execute="x = x + 1")


def _batched(config: str | bytes) -> str:
    text = config if isinstance(config, str) else config.decode()
    return re.sub(r"^(backend|platform): .*", r"\g<0>\nmax_batch_size: 8", text, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, grpc.InferenceServerClient]]:
    folder = tmp_path_factory.mktemp("forms")
    files = {
        "ensemble.toml": 'description = "A chain"\n',
        "ensemble/config.pbtxt": _batched(ensemble("ensemble", "odd", "plain")["ensemble/config.pbtxt"]),
    }
    for name, source in (("odd", ODD), ("plain", PLAIN)):
        files |= {f"{name}/1/model.py": source, f"{name}/config.pbtxt": _batched(CONFIG.format(name=name))}
    write_files(folder / "written" / "chain", files)
    with both_forms(folder / "written" / "chain", folder) as clients:
        yield clients


def ask(client: grpc.InferenceServerClient, word: str) -> Any:
    """The numbers of Y, or the error without the folders in its traceback."""
    given = {"X": np.zeros((1, 3), np.float32)}
    try:
        return infer(client, "chain", given, request_id=word, client_timeout=300)["Y"].tolist()
    except grpc.InferenceServerException as error:
        return re.sub(r"/[^\n:]*/", "", str(error.message()))


TOO_FEW = "input byte size mismatch for input 'X' for model 'chain.plain'. Expected 12, got 0"


@pytest.mark.parametrize(("word", "expected"), [("rows", TOO_FEW), ("twice", [[1.0, 1.0, 1.0]])])
def test_a_client_sees_the_same(forms: dict[str, grpc.InferenceServerClient], word: str, expected: Any) -> None:
    """Otherwise what is deployed gives another number, or another error, than what was drawn."""
    drawn, fused = (ask(forms[form], word) for form in ("drawn", "fused"))
    assert drawn == fused
    assert expected in drawn if isinstance(expected, str) else expected == drawn


def test_a_text_that_is_no_utf8_fails_its_batch_and_no_other(forms: dict[str, grpc.InferenceServerClient]) -> None:
    """Bad input makes such texts (errors="surrogateescape"). The stub of the drawn form dies of it."""
    assert "ValueError: bad \\udc80" in ask(forms["fused"], "surrogate")
    assert ask(forms["fused"], "") == [[1.0, 1.0, 1.0]]
