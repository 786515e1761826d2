"""Ask the two ensembles over KServe v2, as any program would, with tritonclient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import tritonclient.http as http


def embed(client: http.InferenceServerClient, texts: Sequence[str], model: str = "bert_trt") -> npt.NDArray[np.float32]:
    """Unit vectors FP32 [len(texts), 384]. Raises tritonclient's InferenceServerException with the server's reason."""
    rows = http.InferInput("INPUT0", [len(texts), 1], "BYTES")
    rows.set_data_from_numpy(np.array([[text.encode("utf-8")] for text in texts], dtype=np.object_))
    vectors: npt.NDArray[np.float32] = client.infer(model, [rows]).as_numpy("finaloutput")
    return vectors


def classify(
    client: http.InferenceServerClient, image: bytes, top: int = 3, model: str = "dali_inception"
) -> list[tuple[float, int, str]]:
    """The best ``top`` classes of one encoded image: (probability, class index, label), best first.

    This is Triton's classification extension: the server sorts and adds the label.
    """
    encoded = http.InferInput("INPUT", [1, len(image)], "UINT8")
    encoded.set_data_from_numpy(np.frombuffer(image, np.uint8)[None, :])
    wanted = http.InferRequestedOutput("OUTPUT", class_count=top)
    rows = client.infer(model, [encoded], outputs=[wanted]).as_numpy("OUTPUT")[0]
    fields = [row.decode("utf-8").split(":", 2) for row in rows]
    return [(float(value), int(index), label) for value, index, label in fields]
