"""One fused archive for an image: built, checked, uploaded, deployed and answered under the Python of that image."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http

from tests.commands.projects import run_in
from tests.deploy.conftest import ROLE, container, export
from tests.ensembles.clients import infer
from tests.files import write_files
from tests.pythons import python_or_skip
from tests.starter.repositories import LABEL, TEXT, X, Y, tensors, write_ensemble, write_network, write_step
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.ground.files import file_digest
from triton_ensembles.server.triton_server import TritonServer

pytestmark = pytest.mark.slow

LENGTHS = """np.array(
            [[sum(len(word) == size for word, _ in Whitespace().pre_tokenize_str(t.decode())) for size in (1, 2, 3, 4)]
            for t in x[:, 0]], np.float32)"""
"""The numbers of words of one to four letters; the network leaves out the last."""
PYTHON_AND_SCORES = 'np.array([["%d.%d %s" % (*sys.version_info[:2], row.tolist())] for row in x], object)'
RECIPE = """description = "Numbers of words by their lengths"
[environments.words]
file = "envs/words.yml"
steps = ["split", "post"]
exclude = ["*/site-packages/huggingface_hub*", "*/site-packages/hf_xet*"]
"""
PACKAGES = """name: words
channels: [conda-forge]
dependencies: [python=3.11, numpy==1.26.4, tokenizers==0.22.1]
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text -> a Python step with tokenizers -> ONNX -> a Python step."""
    project = tmp_path_factory.mktemp("project")
    folder = project / "ensembles" / "lengths"
    write_step(folder / "split", TEXT, X, LENGTHS, imports="from tokenizers.pre_tokenizers import Whitespace\n")
    write_network(folder / "net" / "1" / "model.onnx")
    write_step(folder / "post", Y, LABEL, PYTHON_AND_SCORES, imports="import sys\n")
    write_ensemble(folder / "ensemble", TEXT, LABEL, "split TEXT X", "net X Y", "post Y LABEL")
    config = f'name: "net"\nplatform: "onnxruntime_onnx"\n{tensors(X, Y)}'
    write_files(folder, {"net/config.pbtxt": config, "ensemble.toml": RECIPE})
    return write_files(project, {"envs/words.yml": PACKAGES})


def run(project: Path, *arguments: str | Path) -> None:
    result = run_in(project, *arguments)
    assert result.exit_code == 0, result.output


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalEndpoint]:
    with LocalEndpoint(tmp_path / "endpoint") as local:
        export(local, monkeypatch)
        yield local


def test_the_archive_that_is_proven_is_the_one_that_is_deployed(project: Path, local: LocalEndpoint) -> None:
    """The very same file answers here under the Python of the image and on the endpoint, without a flag of ours. Images
    with other Pythons are in tests/strangers."""
    image, python = "25.04", "3.12"
    python_or_skip(python)
    run(project, "build", "--target", "fused", "--image", image)
    archive = project / "dist" / "fused" / "lengths.tar.gz"
    run(project, "check", archive, "--image", f"{image}-py3-cpu", "--instance", "ml.m5.xlarge")
    with (
        TritonServer([project / "build" / "fused" / "lengths"], python=python) as server,
        http.InferenceServerClient(server.http_url) as client,
    ):
        texts = np.array([[b"a bb ccc a"], [b"dddd"]], object)
        labels = infer(client, "lengths", {"TEXT": texts})["LABEL"].tolist()
    assert labels == [[f"{python} [2.0, 1.0, 1.0]".encode()], [f"{python} [0.0, 0.0, 0.0]".encode()]]

    run(project, "upload", "--target", "fused", "--endpoint", "words")
    run(project, "deploy", "--target", "fused", "--endpoint", "words", "--role", ROLE)
    s3 = local.client("s3")
    bucket = s3.list_buckets()["Buckets"][0]["Name"]
    (key,) = [each["Key"] for each in s3.list_objects_v2(Bucket=bucket)["Contents"] if each["Key"].endswith(".gz")]
    stored = project / "stored.tar.gz"
    s3.download_file(bucket, key, str(stored))
    assert file_digest(stored) == file_digest(archive)
    assert container(local)["Image"].endswith(f"sagemaker-tritonserver:{image}-py3-cpu")
    body = {"inputs": [{"name": "TEXT", "shape": [1, 1], "datatype": "BYTES", "data": ["a bb"]}]}
    target = {"EndpointName": "words", "TargetModel": key.removeprefix("words/"), "ContentType": "application/json"}
    reply = local.client("sagemaker-runtime").invoke_endpoint(**target, Body=json.dumps(body))
    (output,) = json.loads(reply["Body"].read())["outputs"]
    assert output["data"] == [f"{python} [1.0, 1.0, 0.0]"]

    alone = run_in(project, "deploy", "lengths", "--single", "--target", "fused", "--endpoint", "words", "--role", ROLE)
    assert "updated" in alone.output, alone.output
    del target["TargetModel"]
    reply = local.client("sagemaker-runtime").invoke_endpoint(**target, Body=json.dumps(body))
    assert json.loads(reply["Body"].read())["outputs"] == [output]


def test_an_image_with_an_old_python_is_refused(project: Path) -> None:
    result = run_in(project, "build", "--target", "fused", "--image", "23.04")
    assert result.exit_code == 2
    assert "has Python 3.8, and a fused ensemble needs 3.10" in result.output and "choose 23.05" in result.output
