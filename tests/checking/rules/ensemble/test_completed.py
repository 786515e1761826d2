"""An ensemble over a model whose config Triton completes from its file."""

import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import openvino as ov
import pytest
from tritonclient.utils import InferenceServerException

from tests.checking.packing import write_folder
from tests.running import serving
from tests.runtime.backends.conftest import ModelServer
from tests.runtime.backends.test_completion import doubling, written
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.model_files.read import FileReader
from triton_ensembles.server.triton_server import TritonServer

ENSEMBLE = """platform: "ensemble"
max_batch_size: %(size)s
input { name: "IN" data_type: TYPE_%(type)s dims: %(dims)s }
output { name: "OUT" data_type: TYPE_FP32 dims: %(out)s }
ensemble_scheduling { step { model_name: "%(net)s" model_version: -1
  input_map { key: "%(key)s" value: "IN" } output_map { key: "Y" value: "OUT" } } }
"""
RIGHT = {"net": "net", "size": "4", "type": "FP32", "dims": "2", "key": "X", "out": "2"}
OF_OPENVINO = RIGHT | {"net": "openvino_net", "size": "0", "dims": "[ 3, 2 ]", "out": "[ 3, 2 ]"}
WRONG: list[tuple[dict[str, str], list[str]]] = [
    ({}, []),
    ({"dims": "[ 2, 3 ]"}, ["ensemble-shape-clash"]),
    ({"type": "INT64"}, ["ensemble-data-type-clash"]),
    ({"key": "x"}, ["step-input-unknown"]),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    repository = tmp_path_factory.mktemp("repository")
    write_nets(repository)
    arguments = ("--model-control-mode=explicit", "--load-model=net", "--load-model=openvino_net")
    with serving(TritonServer([repository], completes=True, arguments=arguments)) as server:
        made = ModelServer(repository, server)
        yield made
        made.client.close()


def write_nets(repository: Path) -> None:
    """A file of OpenVINO's own format does not say whether it batches: its first axis is one of dims."""
    written(repository, "net", doubling("batch", 2), 'backend: "onnxruntime"')
    written(repository, "openvino_net", b"", 'backend: "openvino"', "model.xml")
    ov.save_model(ov.Core().read_model(doubling(3, 2)), repository / "openvino_net" / "1" / "model.xml")


@pytest.mark.parametrize(
    ("right", "wrong", "rules"),
    [(right, *case) for right in (RIGHT, OF_OPENVINO) for case in WRONG]
    + [(RIGHT, {"size": "8"}, ["ensemble-batch-size"])],
)
def test_the_file_is_what_the_ensemble_is_compared_with(
    right: dict[str, str], wrong: dict[str, str], rules: list[str], served: ModelServer, tmp_path: Path
) -> None:
    """Otherwise the fault is found by the server, after the upload."""
    write_nets(tmp_path)
    write_folder(tmp_path / "ensemble", {"1": None, "config.pbtxt": ENSEMBLE % (right | wrong)})
    assert [fault.rule for fault in check([tmp_path]).faults] == rules
    shutil.rmtree(served.repository / "ensemble", ignore_errors=True)
    shutil.copytree(tmp_path / "ensemble", served.repository / "ensemble")
    if rules:
        with pytest.raises(InferenceServerException, match=r"in ensemble|ensemble ensemble allows"):
            served.client.load_model("ensemble")
    else:
        served.client.load_model("ensemble")
        assert served.client.is_model_ready("ensemble")
        served.client.unload_model("ensemble")


@pytest.mark.parametrize(
    "text", ['<!DOCTYPE net [<!ENTITY a "aa">]><net>&a;</net>', "<net>" + "<a>" * 500_000, "<net>", "<net/>"]
)
def test_an_xml_that_is_hostile_or_no_model_is_not_read(text: str) -> None:
    """Entities could make a few bytes gigabytes, and a million elements take long."""
    file = FileReader()("1/model.xml", len(text), io.BytesIO(text.encode()))
    assert file is None or not file.inputs
