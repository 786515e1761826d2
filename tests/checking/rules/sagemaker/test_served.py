"""The faults of archives on the real tritonserver 2.51.0, through SageMaker's own routes."""

from __future__ import annotations

import json
import re
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.checking.packing import MODEL_PY, Content, ensemble_of, members, packed, python_step, rules, write
from triton_ensembles.archive.write import write_archive
from triton_ensembles.building.built import Built
from triton_ensembles.triton.sagemaker_server import SageMakerServer

TARGET = "X-Amzn-SageMaker-Target-Model"
PLATFORM = 'platform: "ensemble"'
Files = dict[str, Content]
MODEL: Files = {"config.pbtxt": python_step(), "1/model.py": MODEL_PY}


class Endpoint:
    """What SageMaker does: unpack the archive, load it under the name of its file, invoke it."""

    def __init__(self, server: SageMakerServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self._number = 0

    def load(self, name: str, files: Mapping[str, Content]) -> tuple[int, str]:
        """Returns (status, body); what the checker says of the same bytes is in :attr:`rules`."""
        self._number += 1
        self.archive = write(self.folder / str(self._number) / f"{name}.tar.gz", files)
        self.url = self.folder / "models" / f"hash{self._number}" / "model"
        self.url.mkdir(parents=True)
        with tarfile.open(self.archive) as opened:
            opened.extractall(self.url, filter="data")
        self.hash = f"hash{self._number}"
        return self._post("models", {"model_name": self.hash, "url": str(self.url)}, self.archive.name)

    @property
    def rules(self) -> set[str]:
        return rules(self.archive)

    def invoke(self) -> tuple[int, str]:
        tensor = {"name": "X", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}
        return self._post(f"models/{self.hash}/invoke", {"inputs": [tensor]}, self.archive.name)

    def said(self, words: str) -> int:
        """How often the server's log has these words."""
        return self.server.log.read_text(errors="replace").count(words)

    def _post(self, route: str, body: object, target: str) -> tuple[int, str]:
        request = urllib.request.Request(
            f"http://{self.server.sagemaker_url}/{route}", json.dumps(body).encode(), {TARGET: target}, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    folder = tmp_path_factory.mktemp("endpoint")
    (folder / "empty").mkdir()
    with SageMakerServer(folder / "empty", log=folder / "triton.log") as server:  # SageMaker's log is verbose
        yield Endpoint(server, folder)


def ensemble(name: str, platform: str = PLATFORM, step: str = python_step(), model_py: str = MODEL_PY) -> Files:
    config = {f"{name}/config.pbtxt": ensemble_of(f"{name}.step", platform), f"{name}.step/config.pbtxt": step}
    return {**members(name, model_py=model_py), **config}


def below(folder: str, files: Files = MODEL) -> Files:
    return {f"{folder}/{path}": text for path, text in files.items()}


def with_environment(name: str, content: bytes) -> Files:
    return {**members(name, "$$TRITON_MODEL_DIRECTORY/env.tar.gz"), f"{name}.step/env.tar.gz": content}


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the environment is of Python 3.11, as the stub must be")
def test_an_import_that_the_environment_lacks(endpoint: Endpoint, built: dict[str, Built], tmp_path: Path) -> None:
    """Otherwise the rule about imports looks for packages in the wrong place.

    It comes before the archives that are refused: after their environments, the server refuses this one (measured).
    """
    write_archive(built["bert_trt"].repository / "bert_trt.preprocess" / "environment", tmp_path / "env.tar.gz")
    environment = (tmp_path / "env.tar.gz").read_bytes()
    rules = {"environment-python-of-no-image", "environment-tar"}
    good, bad = with_environment("env", environment), with_environment("env2", environment)
    assert endpoint.load("env", {**good, "env.step/1/model.py": "import tokenizers\n" + MODEL_PY})[0] == 200
    assert endpoint.rules <= rules
    status, body = endpoint.load("env2", {**bad, "env2.step/1/model.py": "import pandas\n" + MODEL_PY})
    assert status == 400 and "No module named 'pandas'" in body
    assert endpoint.rules | rules == {*rules, "environment-import-missing"}


NO_VERSION = "at least one version must be available under the version policy"
NO_ACTIVATE = packed({"lib/python3.11/os.py": ""})
HALF = packed({"bin/activate": "x" * 9999})[:60]
# The rule, what is in the archive, and what the server says.
REFUSED: dict[str, tuple[str, Files, str]] = {
    "empty": ("sagemaker-no-model", {"README.md": "nothing"}, NO_VERSION),
    "wrapped": ("sagemaker-wrapped-archive", below("w", members("wrapped")), NO_VERSION),
    "my model": ("sagemaker-stub-name-in-shell", below("blank"), "No module named 'model'"),  # two words for a name
    "bare": ("environment-no-activate", with_environment("bare", NO_ACTIVATE), "/bin/activate does not exist"),
    "junk": ("environment-format", with_environment("junk", b"junk" * 100), "archive_read_open_filename() failed"),
    "half": ("environment-format", with_environment("half", HALF), "failed"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_archive_is_refused(endpoint: Endpoint, name: str) -> None:
    """Otherwise the rule reports what SageMaker loads."""
    rule, files, words = REFUSED[name]
    status, body = endpoint.load(name, files)
    assert status == 400 and words in body, body
    assert rule in endpoint.rules


CALLS = """\
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        inputs = requests[0].inputs()
        inner = pb_utils.InferenceRequest(model_name="helper", requested_output_names=["Y"], inputs=inputs)
        message = inner.exec().error().message()
        return [pb_utils.InferenceResponse(error=pb_utils.TritonError(message)) for _ in requests]
"""
WRONG, ALONE = MODEL_PY.replace('"Y"', '"y"'), MODEL_PY.replace("self, requests", "self")
MISSPELLED = MODEL_PY.replace("execute", "exectue")
NEXT = 'value: "T" } }, { model_name: "mid.next" model_version: -1 input_map { key: "X" value: "T" }'
CHAIN = ensemble_of("mid.step").replace('value: "Y" }', f'{NEXT} output_map {{ key: "Y" value: "Y" }}')
MIDDLE = {**ensemble("mid", model_py=WRONG), **below("mid.next"), "mid/config.pbtxt": CHAIN}
STREAM = python_step() + "model_transaction_policy { decoupled: true }\n"
DATA = '"data":[1.0,2.0,3.0,4.0]'
BESIDE: Files = {".git/HEAD": "x", "docs/README.md": "x", "empty": None}
NO_MORE = "doesn't support models with decoupled transaction policy"
NO_INPUT = "'NoneType' object has no attribute 'as_numpy'"
LOADED: dict[str, tuple[str, Files, int, str]] = {
    "good": ("", members("good"), 200, DATA),
    "tidy": ("sagemaker-folder-not-a-model", members("tidy") | BESIDE, 200, DATA),
    "last": ("model-py-output-dropped", ensemble("last", model_py=WRONG), 200, '"outputs":[]'),
    "mid": ("model-py-output-name", MIDDLE, 400, "expected 1 inputs but got 0 inputs for model 'mid.next'"),
    "stream": ("sagemaker-decoupled", ensemble("stream", step=STREAM), 400, NO_MORE),
    "bls": ("sagemaker-bls", ensemble("bls", model_py=CALLS) | below("helper"), 400, "Model 'helper' is not ready"),
    "input": ("model-py-input-name", ensemble("input", model_py=MODEL_PY.replace('"X"', '"x"')), 400, NO_INPUT),
    "alone": ("model-py-execute-arguments", ensemble("alone", model_py=ALONE), 400, "TypeError"),
    "none": ("model-py-no-execute", ensemble("none", model_py=MISSPELLED), 400, "does not implement `execute` method"),
}


@pytest.mark.parametrize("name", LOADED)
def test_an_archive_loads_and_answers(endpoint: Endpoint, name: str) -> None:
    """Otherwise the rule quotes words that the server does not use, or reports an archive that answers."""
    rule, files, *answer = LOADED[name]
    assert endpoint.load(name, files)[0] == 200
    status, body = endpoint.invoke()
    assert status == answer[0] and answer[1] in body, body
    assert endpoint.rules == {rule} - {""}


COMMENT = f"# a step of a {PLATFORM} model\n{python_step()}"
TWO: Files = {"two_more/config.pbtxt": ensemble_of("two.step"), "two_more/1/README.md": ""}
# The rule, what is in the archive, and the folders that the front end takes for ensembles.
ENSEMBLES: dict[str, tuple[str, Files, set[str]]] = {
    "two": ("sagemaker-several-ensembles", members("two") | TWO, {"two", "two_more"}),
    "models": ("sagemaker-no-ensemble", below("uno") | below("due"), set()),
    "quoted": ("sagemaker-ensemble-not-seen", ensemble("quoted", "platform: 'ensemble'"), set()),
    "spaced": ("", ensemble("spaced", 'platform:\n\t\r\f "ensemble"'), {"spaced"}),
    # Protobuf skips \v, RE2 does not.
    "vertical": ("sagemaker-ensemble-not-seen", ensemble("vertical", 'platform:\v"ensemble"'), set()),
    "comment": ("sagemaker-ensemble-mistaken", ensemble("comment", step=COMMENT), {"comment", "comment.step"}),
}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_the_front_end_looks_for_ensembles(endpoint: Endpoint, name: str) -> None:
    """Otherwise the checker and the endpoint see another ensemble than SageMaker."""
    rule, files, folders = ENSEMBLES[name]
    endpoint.load(name, files)
    assert endpoint.rules == {rule} - {""}
    log = endpoint.server.log.read_text(errors="replace")
    assert set(re.findall(f"detected an Ensemble config at path: {endpoint.url}/(.*)/config.pbtxt", log)) == folders


def test_shared_steps_are_loaded_again(endpoint: Endpoint, tmp_path: Path) -> None:
    """Otherwise the checker reports archives that may share the names of their steps."""
    assert endpoint.load("first", members("shared"))[0] == 200
    loading = f"loading: {endpoint.url}::shared.step:1"
    before, first = endpoint.said(loading), endpoint.archive
    assert before == 1
    assert endpoint.load("second", members("shared"))[0] == 200
    assert endpoint.said(loading) == 2
    assert rules(first, endpoint.archive) == {"endpoint-shared-step"}


def test_one_target_model_twice_is_refused(endpoint: Endpoint) -> None:
    """Otherwise the checker reports two models of one name that an endpoint accepts."""
    assert endpoint.load("same", members("same1"))[0] == 200
    status, body = endpoint.load("same", members("same2"))
    assert status == 409 and "conflicting mapping" in body
