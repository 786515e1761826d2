"""The answers that clients of @NAME@ get from the real tritonserver: the fixture triton_server starts it."""

from pathlib import Path

import numpy as np
import pytest
from tritonclient import http
from tritonclient.utils import InferenceServerException

ENSEMBLE = Path(__file__).parents[1] / "ensembles" / "@NAME@"


@pytest.fixture(scope="module")
def client(triton_server):
    with http.InferenceServerClient(triton_server(ENSEMBLE).http_url) as client:
        yield client


def answer(client, *texts):
    rows = np.array([[text] for text in texts], np.object_)
    tensor = http.InferInput("TEXT", list(rows.shape), "BYTES")
    result = client.infer("@NAME@", [tensor.set_data_from_numpy(rows)])
    return result.as_numpy("LABEL"), result.as_numpy("SCORE")


def test_each_text_gets_a_label_and_its_score(client):
    labels, scores = answer(client, b"The kitten jumps.", b"Rates rose again.")
    assert labels.shape == scores.shape == (2, 1)
    assert {*labels.flat} <= {b"animals", b"business", b"sports"}
    assert ((scores > 1 / 3) & (scores <= 1)).all()


def test_forms_of_a_word_count_as_the_same(client):
    _, scores = answer(client, b"The kitten jumps.", b"the kittens, jumping")
    assert scores[0] == pytest.approx(scores[1])


def test_a_text_that_is_not_utf8_is_refused(client):
    with pytest.raises(InferenceServerException, match="TEXT is not UTF-8"):
        answer(client, b"\xff")
