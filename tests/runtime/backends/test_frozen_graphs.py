"""What both backends for frozen graphs do: tensorflow and openvino in the real server."""

import numpy as np
import pytest

from tests.runtime.backends.conftest import ModelServer
from tests.runtime.backends.embedding import parameter
from tests.runtime.backends.networks import KERNEL, frozen_graph, graph_config

PARAMETERS = {
    "tensorflow": parameter("TF_NUM_INTRA_THREADS", "1") + parameter("TF_NUM_INTER_THREADS", "1"),
    "openvino": "",
}


@pytest.mark.parametrize(("output", "batch"), [("shifted", None), ("layer/scores", 1)])
@pytest.mark.parametrize("backend", PARAMETERS)
def test_answers_are_those_of_the_graph(
    model_server: ModelServer, backend: str, output: str, batch: int | None
) -> None:
    """Otherwise clients would be mixed up in a batch, or InceptionV3's graph would not load: its softmax is not its
    last tensor, and it has batch size 1, with which the native backend batches, too."""
    name = f"{backend}_{batch}"
    text = graph_config(name, backend, output) + PARAMETERS[backend]
    model_server.load(name, text, {"1/model.graphdef": frozen_graph(batch)})
    random = np.random.default_rng(2)
    inputs = [random.standard_normal((1 + number % 2, 4)).astype(np.float32) for number in range(6)]
    answers = model_server.infer_together(name, [output], [{"input": given} for given in inputs], more_than=2)
    for given, answer in zip(inputs, answers, strict=True):
        expected = given @ KERNEL + (1 if output == "shifted" else 0)
        np.testing.assert_allclose(answer[output], expected, rtol=1e-5, atol=1e-6)
