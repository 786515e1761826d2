"""The faults of archives on the real tritonserver 2.51.0, through SageMaker's own routes."""

from __future__ import annotations

import json
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
MODEL: dict[str, Content] = {"config.pbtxt": python_step(), "1/model.py": MODEL_PY}


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


def test_a_good_archive_is_served(endpoint: Endpoint) -> None:
    """Otherwise the other tests of this file prove nothing."""
    assert endpoint.load("good", members("good"))[0] == 200
    assert endpoint.rules == set()
    status, body = endpoint.invoke()
    assert status == 200 and json.loads(body)["outputs"][0]["data"] == [1, 2, 3, 4]


def test_a_wrapped_archive_is_refused(endpoint: Endpoint) -> None:
    """Otherwise the rule about wrapping folders is wrong."""
    status, body = endpoint.load("wrapped", {f"repository/{name}": text for name, text in members("wr").items()})
    assert status == 400 and "at least one version must be available under the version policy" in body
    assert "sagemaker-wrapped-archive" in endpoint.rules


def test_other_folders_beside_an_ensemble_are_ignored(endpoint: Endpoint) -> None:
    """Otherwise a warning about them is an error, or should be one."""
    files = {**members("tidy"), ".git/HEAD": "x", "docs/README.md": "x", "empty": None}
    assert endpoint.load("tidy", files)[0] == 200
    assert endpoint.rules == {"sagemaker-folder-not-a-model"}
    assert endpoint.invoke()[0] == 200


def test_a_blank_in_the_name_of_a_single_python_model_is_refused(endpoint: Endpoint) -> None:
    """Otherwise the rule about names of archives is wrong: the stub gets two words for its name."""
    status, body = endpoint.load("my model", {f"blank/{file}": text for file, text in MODEL.items()})
    assert status == 400 and "No module named 'model'" in body
    assert endpoint.rules == {"sagemaker-stub-name-in-shell"}


def test_of_two_ensembles_one_is_served(endpoint: Endpoint) -> None:
    """Otherwise the rule about several ensembles is wrong."""
    files = {**members("two"), "two_more/config.pbtxt": ensemble_of("two.step"), "two_more/1/README.md": ""}
    assert endpoint.load("two", files)[0] == 200
    assert endpoint.rules == {"sagemaker-several-ensembles"}
    for folder in ("two", "two_more"):
        assert endpoint.said(f"detected an Ensemble config at path: {endpoint.url}/{folder}/config.pbtxt")


def test_without_an_ensemble_one_of_the_models_is_served(endpoint: Endpoint) -> None:
    """Otherwise the rule about archives without an ensemble is wrong."""
    files = {f"{name}/{file}": text for name in ("uno", "due") for file, text in MODEL.items()}
    assert endpoint.load("none", files)[0] == 200
    assert endpoint.rules == {"sagemaker-no-ensemble"}


def test_single_quotes_hide_the_ensemble(endpoint: Endpoint) -> None:
    """Otherwise the checker insists on a spelling that the front end does not need."""
    files = members("quoted")
    files["quoted/config.pbtxt"] = ensemble_of("quoted.step", "platform: 'ensemble'")
    endpoint.load("quoted", files)
    assert endpoint.rules == {"sagemaker-ensemble-not-seen"}
    assert not endpoint.said(f"detected an Ensemble config at path: {endpoint.url}")


@pytest.mark.parametrize(("space", "seen"), [("\n\t\r\f ", True), ("\v", False)])
def test_the_front_end_skips_five_characters_before_the_platform(endpoint: Endpoint, space: str, seen: bool) -> None:
    """Otherwise the checker and the endpoint see another ensemble than SageMaker: protobuf skips \\v, RE2 does not."""
    name = "spaced" if seen else "vertical"
    files = members(name)
    files[f"{name}/config.pbtxt"] = ensemble_of(f"{name}.step", f'platform:{space}"ensemble"')
    endpoint.load(name, files)
    assert bool(endpoint.said(f"detected an Ensemble config at path: {endpoint.url}")) is seen
    assert endpoint.rules == (set() if seen else {"sagemaker-ensemble-not-seen"})


def test_a_comment_is_taken_for_an_ensemble(endpoint: Endpoint) -> None:
    """Otherwise the checker reports a harmless comment."""
    files = members("comment")
    files["comment.step/config.pbtxt"] = f'# a step of a platform: "ensemble" model\n{python_step()}'
    endpoint.load("comment", files)
    assert endpoint.rules == {"sagemaker-ensemble-mistaken"}
    assert endpoint.said(f"detected an Ensemble config at path: {endpoint.url}/comment.step/config.pbtxt")


def test_requests_to_a_decoupled_step_are_refused(endpoint: Endpoint) -> None:
    """Otherwise the rule about decoupled models is wrong."""
    files = members("stream")
    files["stream.step/config.pbtxt"] = python_step() + "model_transaction_policy { decoupled: true }\n"
    assert endpoint.load("stream", files)[0] == 200
    status, body = endpoint.invoke()
    assert status == 400 and "doesn't support models with decoupled transaction policy" in body
    assert endpoint.rules == {"sagemaker-decoupled"}


def test_a_model_that_model_py_calls_is_not_loaded(endpoint: Endpoint) -> None:
    """Otherwise the checker reports a call of a model that is loaded."""
    code = """\
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        inner = pb_utils.InferenceRequest(model_name="helper", requested_output_names=["Y"], inputs=[])
        message = inner.exec().error().message()
        return [pb_utils.InferenceResponse(error=pb_utils.TritonError(message)) for _ in requests]
"""
    helper = {f"helper/{file}": text for file, text in MODEL.items()}
    assert endpoint.load("bls", {**members("bls", model_py=code), **helper})[0] == 200
    status, body = endpoint.invoke()
    assert status == 400 and "Model 'helper' is not ready" in body
    assert endpoint.rules == {"sagemaker-bls"}


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


@pytest.mark.parametrize(
    ("model_py", "rule", "words"),
    [
        (MODEL_PY.replace("execute", "exectue"), "model-py-no-execute", "does not implement `execute` method"),
        (MODEL_PY.replace("self, requests", "self"), "model-py-execute-arguments", "TypeError"),
        (MODEL_PY.replace('"X"', '"x"'), "model-py-input-name", "'NoneType' object has no attribute 'as_numpy'"),
    ],
)
def test_a_model_loads_and_fails_for_each_request(endpoint: Endpoint, model_py: str, rule: str, words: str) -> None:
    """Otherwise the rule quotes words that the server does not use."""
    assert endpoint.load(rule, members(rule, model_py=model_py))[0] == 200
    status, body = endpoint.invoke()
    assert status == 400 and words in body, body
    assert endpoint.rules == {rule}


def test_an_output_of_another_name_is_dropped(endpoint: Endpoint) -> None:
    """Otherwise the rule about outputs that the config does not have is wrong."""
    wrong = MODEL_PY.replace('"Y"', '"y"')
    assert endpoint.load("last", members("last", model_py=wrong))[0] == 200
    status, body = endpoint.invoke()
    assert status == 200 and json.loads(body)["outputs"] == []
    assert endpoint.rules == {"model-py-output-dropped"}

    files = members("mid", model_py=wrong) | {f"mid.next/{file}": text for file, text in MODEL.items()}
    second = 'value: "T" } }, { model_name: "mid.next" model_version: -1 input_map { key: "X" value: "T" }'
    text = ensemble_of("mid.step").replace('value: "Y" }', f'{second} output_map {{ key: "Y" value: "Y" }}')
    assert endpoint.load("mid", {**files, "mid/config.pbtxt": text})[0] == 200
    status, body = endpoint.invoke()
    assert status == 400 and "expected 1 inputs but got 0 inputs for model 'mid.next'" in body
    assert endpoint.rules == {"model-py-output-name"}


def test_an_archive_without_a_model_is_refused(endpoint: Endpoint) -> None:
    """Otherwise the rule about empty archives is wrong."""
    status, body = endpoint.load("empty", {"README.md": "nothing"})
    assert status == 400 and "at least one version must be available under the version policy" in body
    assert endpoint.rules == {"sagemaker-no-model"}


def test_an_import_that_the_environment_lacks(endpoint: Endpoint, built: dict[str, Built], tmp_path: Path) -> None:
    """Otherwise the rule about imports looks for packages in the wrong place."""
    write_archive(built["bert_trt"].repository / "bert_trt.preprocess" / "environment", tmp_path / "env.tar.gz")
    environment = (tmp_path / "env.tar.gz").read_bytes()
    place = "$$TRITON_MODEL_DIRECTORY/env.tar.gz"
    good = {**members("env", place, "import tokenizers\n" + MODEL_PY), "env.step/env.tar.gz": environment}
    assert endpoint.load("env", good)[0] == 200
    assert endpoint.rules <= {"environment-python-of-no-image", "environment-tar"}
    bad = {**members("env2", place, "import pandas\n" + MODEL_PY), "env2.step/env.tar.gz": environment}
    status, body = endpoint.load("env2", bad)
    assert status == 400 and "No module named 'pandas'" in body
    assert endpoint.rules - {"environment-python-of-no-image"} == {"environment-import-missing", "environment-tar"}


def test_an_environment_without_activate(endpoint: Endpoint) -> None:
    """Otherwise the checker reports environments without bin/activate that Triton accepts."""
    place = "$$TRITON_MODEL_DIRECTORY/env.tar.gz"
    for name, content, words, rule in (
        ("bare", packed({"lib/python3.11/os.py": ""}), "/bin/activate does not exist", "environment-no-activate"),
        ("junk", b"junk" * 100, "archive_read_open_filename() failed", "environment-format"),
        ("half", packed({"bin/activate": "x" * 9999})[:60], "failed", "environment-format"),
    ):
        status, body = endpoint.load(name, {**members(name, place), f"{name}.step/env.tar.gz": content})
        assert status == 400 and words in body, body
        assert rule in endpoint.rules
