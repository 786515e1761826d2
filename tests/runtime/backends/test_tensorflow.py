"""The tensorflow backend: configs and files that do not go together, and what a SavedModel says itself."""

import json
import re
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToJson

from tests.configs import ON_CPU, tensors
from tests.runtime.backends.conftest import ModelServer
from tests.runtime.backends.networks import frozen_graph, graph_config, save_model
from triton_ensembles.runtime.backends.tensorflow.completion import complete
from triton_ensembles.triton.model_config import parse_config


@pytest.fixture(scope="module")
def saved_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("saved"))


@pytest.mark.parametrize(
    ("config", "batch_size"),
    [
        ("", 4),
        ("max_batch_size: 8", 8),
        ('input [ { name: "X" data_type: TYPE_FP32 dims: [ 2 ] } ]', 4),
        ('input [ { name: "X" data_type: TYPE_FP32 dims: [ -1, 2 ] } ]', 0),
    ],
)
def test_a_config_is_completed_from_the_signature(saved_model: Path, config: str, batch_size: int) -> None:
    """Each start of a model imports TensorFlow twice, so the server is asked about the first alone
    (test_completion.py)."""
    completed = json.loads(MessageToJson(parse_config(config, "config.pbtxt"), preserving_proto_field_name=True))
    complete(completed, saved_model)
    dims = [2] if batch_size else [-1, 2]
    for kind, name in (("input", "X"), ("output", "Y")):
        (tensor,) = completed[kind]
        assert (tensor["name"], [int(size) for size in tensor["dims"]]) == (name, dims)
    assert ("dynamic_batching" in completed, completed.get("max_batch_size", 0)) == (batch_size > 0, batch_size)


SAVED = f"""platform: "tensorflow_savedmodel" {tensors("X:FP32:-1,2", "Y:FP32:-1,2")}{ON_CPU}
default_model_filename: "model.savedmodel" parameters {{ key: "TF_" value {{ string_value: "x" }} }}"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"X"', '"input"', 'has input "input", but the file has "X"'),
        ("-1, 2", "-1, 3", r"is \[-1, 3\] in the config, but \[-1, 2\]"),
        ("TF_", "TF_SIGNATURE_DEF", 'model.savedmodel has no signature "x" .*: it has .*serving_default'),
        ("TF_", "TF_GRAPH_TAG", "cannot load model.savedmodel: MetaGraphDef associated with tags"),
    ],
)
def test_a_config_that_does_not_match_the_saved_model_is_refused(
    model_server: ModelServer, saved_model: Path, old: str, new: str, message: str
) -> None:
    paths = (path for path in saved_model.rglob("*") if path.is_file())
    files = {f"1/model.savedmodel/{path.relative_to(saved_model)}": path.read_bytes() for path in paths}
    reason = model_server.refusal(SAVED.replace(old, new), files)
    assert re.search(message, reason), reason


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name: "input"', 'name: "image"', 'has input "image", but the file has "input"'),
        ("layer/scores", "scores", 'output "scores", but the graph has no such tensor; it ends in "shifted"'),
        ("dims: [ 3 ]", "dims: [ 4 ]", r"is \[-1, 4\] with the batch axis in the config, but \[-1, 3\]"),
        ("", "", "model.graphdef is not a TensorFlow GraphDef"),
    ],
)
def test_a_config_or_a_file_that_does_not_match_is_refused(
    model_server: ModelServer, old: str, new: str, message: str
) -> None:
    """Otherwise a wrong config would load and fail at the first request, or give an unreadable error of protobuf."""
    text = graph_config("bad", "tensorflow")
    assert old in text
    content = frozen_graph() if old else b"junk"
    reason = model_server.refusal(text.replace(old, new, 1), {"1/model.graphdef": content})
    assert re.search(message, reason), reason
