"""One fused archive for an image: built, checked, uploaded, deployed and answered under the Python of that image."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
import tritonclient.http as http
from click.testing import CliRunner
from onnx import TensorProto, helper

from triton_ensembles.commands.cli import main
from triton_ensembles.endpoint.announcement import environment
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.ground.files import file_digest
from triton_ensembles.triton.interpreter import find_interpreter
from triton_ensembles.triton.server import TritonServer

ROLE = "arn:aws:iam::123456789012:role/some-role"
WEIGHTS = np.random.default_rng(7).standard_normal((4, 3)).astype(np.float32)
SPLIT = """import sys

import numpy as np
import triton_python_backend_utils as pb_utils
from tokenizers.pre_tokenizers import Whitespace


class TritonPythonModel:
    def initialize(self, args):
        self.split = Whitespace()

    def execute(self, requests):
        return [self.answer(pb_utils.get_input_tensor_by_name(each, "TEXT").as_numpy()) for each in requests]

    def answer(self, rows):
        words = [[word for word, _ in self.split.pre_tokenize_str(row.decode())] for row in rows[:, 0]]
        lengths = [[sum(len(word) == size for word in row) for size in (1, 2, 3, 4)] for row in words]
        python = np.array([["%d.%d" % sys.version_info[:2]]] * len(rows), dtype=object)
        outputs = [pb_utils.Tensor("LENGTHS", np.array(lengths, np.float32)), pb_utils.Tensor("PYTHON", python)]
        return pb_utils.InferenceResponse(outputs)
"""
TENSORS = {"TEXT": ("STRING", 1), "LENGTHS": ("FP32", 4), "PYTHON": ("STRING", 1), "SCORES": ("FP32", 3)}


def config(name: str, head: str, inputs: tuple[str, ...], outputs: tuple[str, ...], more: str = "") -> str:
    def declared(names: tuple[str, ...]) -> str:
        return ", ".join(
            f'{{ name: "{each}", data_type: TYPE_{TENSORS[each][0]}, dims: [ {TENSORS[each][1]} ] }}' for each in names
        )

    body = f"max_batch_size: 8\ninput [ {declared(inputs)} ]\noutput [ {declared(outputs)} ]\n"
    return f'name: "{name}"\n{head}\n{body}{more}\n'


def step(model: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> str:
    maps = [f'input_map {{ key: "{each}" value: "{each}" }}' for each in inputs]
    maps += [f'output_map {{ key: "{each}" value: "{each}" }}' for each in outputs]
    return f'{{ model_name: "{model}" model_version: -1 {" ".join(maps)} }}'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text -> a Python step with tokenizers -> ONNX."""
    project = tmp_path_factory.mktemp("project")
    folder = project / "ensembles" / "lengths"
    network = helper.make_graph(
        [helper.make_node("MatMul", ["LENGTHS", "weights"], ["SCORES"])],
        "network",
        [helper.make_tensor_value_info("LENGTHS", TensorProto.FLOAT, ["rows", 4])],
        [helper.make_tensor_value_info("SCORES", TensorProto.FLOAT, ["rows", 3])],
        [onnx.numpy_helper.from_array(WEIGHTS, "weights")],
    )
    model = helper.make_model(network, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    steps = ", ".join((step("split", ("TEXT",), ("LENGTHS", "PYTHON")), step("network", ("LENGTHS",), ("SCORES",))))
    files: dict[str, str | bytes] = {
        "ensemble/config.pbtxt": config(
            "ensemble",
            'platform: "ensemble"',
            ("TEXT",),
            ("SCORES", "PYTHON"),
            f"ensemble_scheduling {{ step [ {steps} ] }}",
        ),
        "split/config.pbtxt": config("split", 'backend: "python"', ("TEXT",), ("LENGTHS", "PYTHON")),
        "split/1/model.py": SPLIT,
        "network/config.pbtxt": config("network", 'backend: "onnxruntime"', ("LENGTHS",), ("SCORES",)),
        "network/1/model.onnx": model.SerializeToString(),
        "ensemble.toml": 'description = "Scores of the lengths of words"\n\n[environments.words]\n'
        'file = "envs/words.yml"\nsteps = ["split"]\n'
        'exclude = ["*/site-packages/huggingface_hub*", "*/site-packages/hf_xet*"]\n',
    }
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content.encode() if isinstance(content, str) else content)
    (project / "envs").mkdir()
    (project / "envs" / "words.yml").write_text(
        "name: words\nchannels: [conda-forge]\ndependencies:\n  - python=3.11\n  - numpy==1.26.4\n"
        "  - tokenizers==0.22.1\n"
    )
    return project


def run(project: Path, *arguments: str) -> str:
    result = CliRunner().invoke(main, ["--project", str(project), *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def text_input() -> http.InferInput:
    rows = http.InferInput("TEXT", [2, 1], "BYTES")
    rows.set_data_from_numpy(np.array([[b"a bb ccc a"], [b"dddd"]], dtype=object))
    return rows


def expected() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.array([[2, 1, 1, 0], [0, 0, 0, 1]], np.float32) @ WEIGHTS


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalEndpoint]:
    with LocalEndpoint(tmp_path / "endpoint") as local:
        for name, value in environment(local.url, "us-east-1").items():
            monkeypatch.setenv(name, value)
        yield local


@pytest.mark.parametrize(("image", "python"), [("24.09", "3.10"), ("25.04", "3.12")])
def test_the_archive_that_is_proven_is_the_one_that_is_deployed(
    project: Path, local: LocalEndpoint, image: str, python: str
) -> None:
    """The very same file answers here under the Python of the image and on the endpoint, without a flag of ours."""
    if find_interpreter(python) is None:
        pytest.skip(f"there is no Python {python} with a shared library here")
    run(project, "build", "--target", "fused", "--image", image)
    archive = project / "dist" / "fused" / "lengths.tar.gz"
    run(project, "check", str(archive), "--image", f"{image}-py3-cpu", "--instance", "ml.m5.xlarge")
    with (
        TritonServer([project / "build" / "fused" / "lengths"], python=python) as server,
        http.InferenceServerClient(server.http_url) as client,
    ):
        answer = client.infer("lengths", [text_input()])
        assert answer.as_numpy("PYTHON").tolist() == [[python.encode()]] * 2
        np.testing.assert_allclose(answer.as_numpy("SCORES"), expected(), rtol=1e-5)

    run(project, "upload", "--target", "fused", "--endpoint", "words")
    run(project, "deploy", "--target", "fused", "--endpoint", "words", "--role", ROLE)
    s3 = local.client("s3")
    bucket = s3.list_buckets()["Buckets"][0]["Name"]
    (key,) = [each["Key"] for each in s3.list_objects_v2(Bucket=bucket)["Contents"] if each["Key"].endswith(".gz")]
    stored = project / "stored.tar.gz"
    s3.download_file(bucket, key, str(stored))
    assert file_digest(stored) == file_digest(archive)
    (model,) = local.client("sagemaker").list_models()["Models"]
    container = local.client("sagemaker").describe_model(ModelName=model["ModelName"])["PrimaryContainer"]
    assert container["Image"].endswith(f"sagemaker-tritonserver:{image}-py3-cpu")
    body = {"inputs": [{"name": "TEXT", "shape": [1, 1], "datatype": "BYTES", "data": ["a bb"]}]}
    reply = local.client("sagemaker-runtime").invoke_endpoint(
        EndpointName="words",
        TargetModel=key.removeprefix("words/"),
        ContentType="application/json",
        Body=json.dumps(body),
    )
    outputs = {each["name"]: each["data"] for each in json.loads(reply["Body"].read())["outputs"]}
    assert outputs["PYTHON"] == [python]
    np.testing.assert_allclose(outputs["SCORES"], (WEIGHTS[0] + WEIGHTS[1]).tolist(), rtol=1e-5)


def test_an_archive_for_another_python_is_refused(project: Path) -> None:
    """Otherwise it is uploaded, and dies there."""
    run(project, "build", "--target", "fused")
    archive = project / "dist" / "fused" / "lengths.tar.gz"
    result = CliRunner().invoke(main, ["check", str(archive), "--image", "24.09-py3-cpu"])
    assert result.exit_code == 1
    assert "numpy-1.26.4.dist-info/WHEEL" in result.output and "the Python of Triton 24.09 is 3.10" in result.output


def test_an_image_with_an_old_python_is_refused(project: Path) -> None:
    result = CliRunner().invoke(main, ["--project", str(project), "build", "--target", "fused", "--image", "23.04"])
    assert result.exit_code == 1
    assert "has Python 3.8, and a fused ensemble needs 3.10" in result.output and "choose 23.05" in result.output
