"""What clients get of the ensemble, from the real tritonserver."""

import numpy as np
import pytest
from tritonclient.utils import InferenceServerException


def test_held_out_tickets_go_to_the_right_team(client, texts_tensor, held_out):
    texts, teams = held_out
    found = client.infer("support_tickets", [texts_tensor(texts)]).as_numpy("TEAM")
    right = [team.decode() == wanted for team, wanted in zip(found[:, 0], teams, strict=True)]
    assert np.mean(right) >= 0.8


def test_the_probabilities_are_those_that_numpy_computes(client, texts_tensor, held_out, record_testsuite_property):
    """The same weights without a server: what tokenizing, ONNX Runtime and batching could have changed."""
    import train

    texts, _ = held_out
    expected = train.probabilities(np.stack([train.bag(text) for text in texts]), *train.train(rounds=400, rate=2.0))
    found = client.infer("support_tickets", [texts_tensor(texts)]).as_numpy("PROBABILITIES")
    largest = np.abs(found - expected).max()
    record_testsuite_property("largest_difference", f"{largest:.1e}")  # in the JUnit report
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_row_does_not_depend_on_the_others_of_its_batch(client, texts_tensor, held_out):
    texts, _ = held_out
    together = client.infer("support_tickets", [texts_tensor(texts)]).as_numpy("PROBABILITIES")
    alone = [client.infer("support_tickets", [texts_tensor([each])]).as_numpy("PROBABILITIES")[0] for each in texts]
    np.testing.assert_allclose(together, alone, atol=1e-6)


@pytest.mark.parametrize("text", ["", "?!", "Straße ÄÖÜ", "word " * 10_000])
def test_any_text_gets_an_answer(client, texts_tensor, text):
    found = client.infer("support_tickets", [texts_tensor([text])]).as_numpy("PROBABILITIES")
    assert found.sum() == pytest.approx(1, abs=1e-5)


def test_bytes_that_are_no_text_are_refused(client, texts_tensor):
    with pytest.raises(InferenceServerException, match="TEXT is not UTF-8"):
        client.infer("support_tickets", [texts_tensor([b"\xff"])])
