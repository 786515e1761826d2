"""The reference is what people would use instead of bert_trt: it must give the same answers, in its own slow way."""

import shutil
import sys
import tomllib
from collections.abc import Iterator

import numpy as np
import pytest
import tritonclient.http as http

from benchmarks.reference.build import HERE, NAME, built_models
from checkout import ENSEMBLES
from tests.ensembles.clients import embed
from tests.ensembles.sentences import SENTENCES
from tests.running import client_of
from triton_ensembles.building.built import Built
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.model_config import format_config, read_config

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def models() -> Built:
    """Without the environment that holds torch."""
    return built_models(print)


@pytest.fixture(scope="module")
def reference(models: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[http.InferenceServerClient]:
    """Serve it with Python steps in the project's own environment, which has torch too."""
    folder = tmp_path_factory.mktemp("reference")
    shutil.copytree(models.repository, folder / "models")
    for step in ("preprocess", "postprocess"):
        path = folder / "models" / f"{NAME}.{step}" / "config.pbtxt"
        config = read_config(path)
        config.parameters["EXECUTION_ENV_PATH"].string_value = sys.prefix
        path.write_text(format_config(config))
    with client_of(TritonServer([folder / "models"])) as client:
        yield client


def test_it_answers_what_bert_trt_answers(
    reference: http.InferenceServerClient, client: http.InferenceServerClient
) -> None:
    """Otherwise the benchmark would compare two different things."""
    texts = [text for text in SENTENCES if len(text) < 100][:48]  # within the 128 tokens at which it cuts
    theirs = embed(reference, texts, NAME)
    theirs = theirs / np.linalg.norm(theirs, axis=1, keepdims=True)
    assert np.abs(theirs - embed(client, texts)).max() <= 1e-4


def test_it_runs_in_the_engine_that_bert_trt_runs_in() -> None:
    """Otherwise a difference between engines would look like one between ensembles."""
    files = (ENSEMBLES / "bert_trt" / "ensemble.toml", HERE / NAME / "ensemble.toml")
    ours, theirs = (tomllib.loads(file.read_text())["engines"]["bert-trt"] for file in files)
    assert {"backend": "onnxruntime", **ours, "instances": 1} == {"instances": 1, **theirs}
