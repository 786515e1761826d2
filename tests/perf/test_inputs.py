"""What perf sends."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from triton_ensembles.errors import EnsembleError
from triton_ensembles.perf.inputs import UserInputs, inputs_for, sentences

OTHER: dict[str, Any] = {
    "name": "other",
    "input": [{"name": "IMAGE", "dims": ["3", "-1", "-1"]}, {"name": "SCALE", "dims": ["1"]}],
}


def test_sentences_are_many_and_of_mixed_lengths() -> None:
    """Else padding and batching are measured on input that nobody has."""
    texts = sentences()
    lengths = [len(text.split()) for text in texts]
    assert len(set(texts)) == len(texts) >= 90
    assert min(lengths) >= 8
    assert 30 < max(lengths) <= 60


def test_photographs_are_sent_as_they_are(tmp_path: Path) -> None:
    """Else decoding is measured on something else than real JPEGs of different sizes."""
    inputs = inputs_for({"name": "dali_inception"}, 1, tmp_path, UserInputs())
    entries = json.loads(Path(inputs.arguments[1]).read_text())["data"]
    images = [base64.b64decode(entry["INPUT"]["b64"]) for entry in entries]
    assert [image[:3] for image in images] == [b"\xff\xd8\xff"] * 2
    assert [entry["INPUT"]["shape"] for entry in entries] == [[len(image)] for image in images]


def test_a_batch_of_photographs_has_one_size(tmp_path: Path) -> None:
    """Else --batch 2 always fails: one request cannot hold images of different lengths."""
    assert inputs_for({"name": "dali_inception"}, 2, tmp_path, UserInputs()).entries == 1


def test_photographs_are_sent_as_pixels(tmp_path: Path) -> None:
    """Else perf_analyzer reads another shape than resnet_pytorch's, or a picture that nobody has taken."""
    inputs = inputs_for({"name": "resnet_pytorch"}, 1, tmp_path, UserInputs())
    entries = json.loads(Path(inputs.arguments[1]).read_text())["data"]
    assert [entry["INPUT__0"]["shape"] for entry in entries] == [[3, 224, 224]] * 2
    for entry in entries:
        values = np.frombuffer(base64.b64decode(entry["INPUT__0"]["b64"]), np.float32)
        assert values.size == 3 * 224 * 224
        assert -2.2 < values.min() < values.max() < 2.7  # what 0 and 255 become


def test_an_unknown_ensemble_of_variable_size(tmp_path: Path) -> None:
    """Else perf_analyzer's own error is all that one gets, without the option that cures it."""
    with pytest.raises(EnsembleError, match=r"size of IMAGE is variable; .* --shape IMAGE:8,8,8"):
        inputs_for(OTHER, 1, tmp_path, UserInputs())


def test_an_unknown_ensemble_with_a_shape(tmp_path: Path) -> None:
    """Else no ensemble but the project's own can be measured."""
    inputs = inputs_for(OTHER, 1, tmp_path, UserInputs(shapes=("IMAGE:3,224,224",)))
    assert inputs.arguments == ("--shape", "IMAGE:3,224,224")


def test_input_of_the_user_wins(tmp_path: Path) -> None:
    """Else people measure our sentences where they asked for theirs."""
    data = tmp_path / "mine.json"
    inputs = inputs_for({"name": "bert_trt"}, 1, tmp_path, UserInputs(data=data))
    assert inputs.arguments == ("--input-data", str(data))
