"""Clones of a real ensemble, served side by side by the real server."""

import tarfile
from pathlib import Path

import numpy as np
import tritonclient.http as http

from triton_ensembles.archive.clones import clone, clone_names
from triton_ensembles.building.built import Built
from triton_ensembles.checking import check
from triton_ensembles.checking.fault import Severity
from triton_ensembles.triton.server import TritonServer

SENTENCES = ["A cat sleeps on the sofa.", "Interest rates rose by half a point."]


def embed(client: http.InferenceServerClient, model: str) -> np.ndarray:
    given = http.InferInput("INPUT0", [len(SENTENCES), 1], "BYTES")
    given.set_data_from_numpy(np.array([[text.encode()] for text in SENTENCES], object))
    answer = client.infer(model, [given]).as_numpy("finaloutput")
    assert answer is not None
    return answer


def test_clones_load_beside_their_original_and_give_the_same_answers(built: dict[str, Built], tmp_path: Path) -> None:
    """Otherwise a tenant's model would be incomplete, or loading it would disturb the models already loaded."""
    names = clone_names("tenant", 2)
    archives = list(clone(built["bert_trt"].archive, names, tmp_path))
    faults = check([built["bert_trt"].archive, *archives]).faults
    assert [fault for fault in faults if fault.severity is Severity.ERROR] == []
    repositories = [built["bert_trt"].repository]
    for archive, name in zip(archives, names, strict=True):
        repositories.append(tmp_path / name)
        with tarfile.open(archive) as tar:
            tar.extractall(repositories[-1], filter="data")
    with TritonServer(repositories, log=tmp_path / "log") as server:
        client = http.InferenceServerClient(server.http_url)
        expected = embed(client, "bert_trt")
        for name in names:
            np.testing.assert_allclose(embed(client, name), expected, atol=1e-6)
        client.close()
    log = (tmp_path / "log").read_text()
    assert log.count("successfully loaded 'bert_trt.bert-trt'") == 1, "a clone made the original load again"
