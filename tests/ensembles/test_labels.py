"""Triton's classification extension on the leading ensembles that classify: the server sorts, and adds the labels."""

from typing import Any

import numpy as np
import pytest
import tritonclient.http as http

from tests.ensembles.clients import PHOTOGRAPHS, Array, infer, rows
from triton_ensembles.building.built import Built

BEST = 5


@pytest.mark.parametrize(
    ("model", "labelled", "given", "output"),
    [
        (
            "dali_inception",
            "inception_graphdef/inception_labels.txt",
            {"INPUT": rows([PHOTOGRAPHS[0].read_bytes()])},
            "OUTPUT",
        ),
        pytest.param(
            "resnet_pytorch",
            "resnet/imagenet_classes.txt",
            {"INPUT__0": np.random.default_rng(0).standard_normal((1, 3, 224, 224)).astype(np.float32)},
            "OUTPUT__0",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_classes_are_answered_with_their_names(
    client: Any, built: dict[str, Built], model: str, labelled: str, given: dict[str, Array], output: str
) -> None:
    labels = (built[model].repository / f"{model}.{labelled}").read_text().splitlines()
    scores = infer(client, model, given)[output][0]
    assert len(labels) == len(scores)
    wanted = [http.InferRequestedOutput(output, class_count=BEST)]
    answers = infer(client, model, given, outputs=wanted)[output][0]
    fields = [answer.decode().split(":", 2) for answer in answers]
    best = np.argsort(scores)[::-1][:BEST]
    assert [(int(index), label) for _, index, label in fields] == [(index, labels[index]) for index in best]
