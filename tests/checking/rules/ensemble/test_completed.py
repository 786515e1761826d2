"""An ensemble over a model whose config Triton completes from its file."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import openvino as ov
import pytest
from tritonclient.utils import InferenceServerException

from tests.running import serving
from tests.runtime.backends.conftest import ModelServer
from tests.runtime.backends.test_completion import doubling, written
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.model_files.read import FileReader
from triton_ensembles.triton.server import TritonServer

ENSEMBLE = """platform: "ensemble"
max_batch_size: %(size)s
input { name: "IN" data_type: TYPE_%(type)s dims: %(dims)s }
output { name: "OUT" data_type: TYPE_FP32 dims: 2 }
ensemble_scheduling { step { model_name: "net" model_version: -1
  input_map { key: "%(key)s" value: "IN" } output_map { key: "Y" value: "OUT" } } }
"""
RIGHT = {"size": "4", "type": "FP32", "dims": "2", "key": "X"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    """It has the two models over which the tests write ensembles."""
    repository = tmp_path_factory.mktemp("repository")
    for write in (write_net, write_openvino_net):
        write(repository)
    arguments = ("--model-control-mode=explicit", "--load-model=net", "--load-model=openvino_net")
    with serving(TritonServer([repository], completes=True, arguments=arguments)) as server:
        made = ModelServer(repository, server)
        yield made
        made.client.close()


def write_net(repository: Path) -> None:
    written(repository, "net", doubling("batch", 2), 'backend: "onnxruntime"')


def write_openvino_net(repository: Path) -> None:
    """A file of its own format does not say whether it batches: its first axis is one of dims."""
    written(repository, "openvino_net", b"", 'backend: "openvino"', "model.xml")
    ov.save_model(ov.Core().read_model(doubling(3, 2)), repository / "openvino_net" / "1" / "model.xml")


def judge(ensemble: str, rules: list[str], repository: Path, served: ModelServer) -> None:
    """The checker finds these rules, and the server refuses the ensemble if there are some."""
    (repository / "ensemble" / "1").mkdir(parents=True)
    (repository / "ensemble" / "config.pbtxt").write_text(ensemble)
    assert [fault.rule for fault in check([repository]).faults] == rules
    shutil.rmtree(served.repository / "ensemble", ignore_errors=True)
    shutil.copytree(repository / "ensemble", served.repository / "ensemble")
    if rules:
        with pytest.raises(InferenceServerException, match=r"in ensemble|ensemble ensemble allows"):
            served.client.load_model("ensemble")
    else:
        served.client.load_model("ensemble")
        assert served.client.is_model_ready("ensemble")
        served.client.unload_model("ensemble")


@pytest.mark.parametrize(
    ("wrong", "rules"),
    [
        ({}, []),
        ({"dims": "3"}, ["ensemble-shape-clash"]),
        ({"type": "INT64"}, ["ensemble-data-type-clash"]),
        ({"key": "x"}, ["step-input-unknown"]),
        ({"size": "8"}, ["ensemble-batch-size"]),
    ],
)
def test_the_file_is_what_the_ensemble_is_compared_with(
    wrong: dict[str, str], rules: list[str], served: ModelServer, tmp_path: Path
) -> None:
    """Otherwise the fault is found by the server, after the upload."""
    write_net(tmp_path)
    judge(ENSEMBLE % (RIGHT | wrong), rules, tmp_path, served)


@pytest.mark.parametrize(
    ("wrong", "rules"),
    [
        ({}, []),
        ({"dims": "[ 2, 3 ]"}, ["ensemble-shape-clash"]),
        ({"type": "INT64"}, ["ensemble-data-type-clash"]),
        ({"key": "x"}, ["step-input-unknown"]),
    ],
)
def test_so_is_a_file_of_openvinos_own(
    wrong: dict[str, str], rules: list[str], served: ModelServer, tmp_path: Path
) -> None:
    write_openvino_net(tmp_path)
    text = ENSEMBLE.replace("dims: 2", "dims: [ 3, 2 ]").replace('"net"', '"openvino_net"')
    judge(text % (RIGHT | {"size": "0", "dims": "[ 3, 2 ]"} | wrong), rules, tmp_path, served)


@pytest.mark.parametrize(
    "text", ['<!DOCTYPE net [<!ENTITY a "aa">]><net>&a;</net>', "<net>" + "<a>" * 500_000, "<net>", "<net/>"]
)
def test_an_xml_that_is_hostile_or_no_model_is_not_read(text: str) -> None:
    """Entities could make a few bytes gigabytes, and a million elements take long."""
    file = FileReader()("1/model.xml", len(text), io.BytesIO(text.encode()))
    assert file is None or not file.inputs


def test_a_batch_size_that_the_file_cannot_have_is_a_fault(tmp_path: Path) -> None:
    """tests/runtime/backends/test_completion.py asks the server."""
    written(tmp_path / "models", "net", doubling(3, 2), 'backend: "onnxruntime"\nmax_batch_size: 8')
    assert "onnx-completion" in [fault.rule for fault in check([tmp_path / "models"]).faults]
