"""What several tests need: a server with the ensemble, and requests."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from tritonclient import http

PROJECT = Path(__file__).parents[1]
ENSEMBLE = "ensembles/support_tickets"
sys.path.insert(0, str(PROJECT))  # train.py


@pytest.fixture
def server(triton_server):
    return triton_server(ENSEMBLE)


@pytest.fixture
def client(server):
    with http.InferenceServerClient(server.http_url) as client:
        yield client


@pytest.fixture(scope="session")
def held_out():
    """Texts that the training has not seen, and the teams that they are for."""
    with (PROJECT / "data" / "held_out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], [row["team"] for row in rows]


@pytest.fixture(scope="session")
def texts_tensor():
    """``texts_tensor(texts)``: the input TEXT of a request, BYTES [batch, 1]."""

    def tensor(texts):
        rows = np.array([[text if isinstance(text, bytes) else text.encode()] for text in texts], np.object_)
        return http.InferInput("TEXT", list(rows.shape), "BYTES").set_data_from_numpy(rows)

    return tensor
