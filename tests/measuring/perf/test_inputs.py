"""What perf sends."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from tritonclient.utils import deserialize_bytes_tensor

from checkout import ENSEMBLES
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.perf.inputs import Inputs, UserInputs, inputs_for
from triton_ensembles.project.examples.folder import Examples, read_examples

OTHER: dict[str, Any] = {
    "name": "other",
    "input": [{"name": "IMAGE", "dims": ["3", "-1", "-1"]}, {"name": "SCALE", "dims": ["1"]}],
}
NONE = Examples((), ())


def of_project(name: str, folder: Path, batch: int = 1, user: UserInputs | None = None) -> Inputs:
    return inputs_for({"name": name}, read_examples(ENSEMBLES / name), batch, folder, user or UserInputs())


def entries_of(inputs: Inputs) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(Path(inputs.arguments[1]).read_text())["data"]
    return entries


def test_sentences_are_many_and_of_mixed_lengths(tmp_path: Path) -> None:
    """Otherwise padding and batching are measured on input that nobody has."""
    entries = entries_of(of_project("bert_trt", tmp_path))
    assert {tuple(entry["INPUT0"]["shape"]) for entry in entries} == {(1,)}
    texts = [deserialize_bytes_tensor(base64.b64decode(entry["INPUT0"]["b64"]))[0].decode() for entry in entries]
    lengths = [len(text.split()) for text in texts]
    assert len(set(texts)) == len(texts) >= 90
    assert min(lengths) >= 8
    assert 30 < max(lengths) <= 60


def test_photographs_are_sent_as_they_are(tmp_path: Path) -> None:
    """Otherwise decoding is measured on something else than real JPEGs of different sizes."""
    inputs = of_project("dali_inception", tmp_path)
    entries = entries_of(inputs)
    images = [base64.b64decode(entry["INPUT"]["b64"]) for entry in entries]
    assert [image[:3] for image in images] == [b"\xff\xd8\xff"] * 2
    assert [entry["INPUT"]["shape"] for entry in entries] == [[len(image)] for image in images]
    assert inputs.about == "2 example rows: INPUT UINT8 [196653], [142987]"
    # Otherwise --batch 2 always fails: one request cannot hold images of different lengths.
    assert of_project("dali_inception", tmp_path, batch=2).entries == 1
    assert of_project("bert_trt", tmp_path, batch=2).entries >= 90


def test_variable_sizes_without_examples_are_refused(tmp_path: Path) -> None:
    """Otherwise perf_analyzer's own error is all that one gets, without the option that helps."""
    with pytest.raises(EnsembleError, match=r"size of IMAGE is variable; .* --shape IMAGE:8,8,8"):
        inputs_for(OTHER, NONE, 1, tmp_path, UserInputs())


def test_input_of_the_user_wins(tmp_path: Path) -> None:
    """Otherwise people measure the examples where they asked for their own input or for another size."""
    for examples in (NONE, read_examples(ENSEMBLES / "bert_trt")):
        inputs = inputs_for(OTHER, examples, 1, tmp_path, UserInputs(shapes=("IMAGE:3,224,224",)))
        assert inputs.arguments == ("--shape", "IMAGE:3,224,224")
    data = tmp_path / "mine.json"
    inputs = of_project("bert_trt", tmp_path, user=UserInputs(data=data))
    assert inputs.arguments == ("--input-data", str(data))
