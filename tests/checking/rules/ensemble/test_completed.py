"""An ensemble over a model whose config Triton completes from its file."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tritonclient.utils import InferenceServerException

from tests.files import write_files
from tests.running import serving
from tests.runtime.backends.conftest import ModelServer
from tests.runtime.backends.test_completion import doubling, written
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.fault import Severity
from triton_ensembles.server.triton_server import TritonServer

ENSEMBLE = """platform: "ensemble"
max_batch_size: %(size)s
input { name: "IN" data_type: TYPE_%(type)s dims: %(dims)s }
output { name: "OUT" data_type: TYPE_FP32 dims: %(out)s }
ensemble_scheduling { step { model_name: "%(net)s" model_version: -1
  input_map { key: "%(key)s" value: "IN" } output_map { key: "Y" value: "OUT" } } }
"""
RIGHT = {"net": "net", "size": "4", "type": "FP32", "dims": "2", "key": "X", "out": "2"}
CONFIGS = {"net": 'backend: "onnxruntime"', "bare": None}
WRONG: list[tuple[dict[str, str], list[str]]] = [
    ({}, []),
    ({"dims": "[ 2, 3 ]"}, ["ensemble-shape-clash"]),
    ({"type": "INT64"}, ["ensemble-data-type-clash"]),
    ({"key": "x"}, ["step-input-unknown"]),
    ({"size": "8"}, ["ensemble-batch-size"]),
    ({"net": "bare"}, []),
    ({"net": "bare", "dims": "[ 2, 3 ]"}, ["ensemble-shape-clash"]),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    repository = tmp_path_factory.mktemp("repository")
    for name, config in CONFIGS.items():
        written(repository, name, doubling("batch", 2), config)
    arguments = ("--model-control-mode=explicit", "--load-model=*")
    with serving(TritonServer([repository], completes=True, arguments=arguments)) as server:
        made = ModelServer(repository, server)
        yield made
        made.client.close()


@pytest.mark.parametrize(("wrong", "rules"), WRONG)
def test_the_file_is_what_the_ensemble_is_compared_with(
    wrong: dict[str, str], rules: list[str], served: ModelServer, tmp_path: Path
) -> None:
    """Otherwise the fault is found by the server, after the upload."""
    written(tmp_path, net := wrong.get("net", "net"), doubling("batch", 2), CONFIGS[net])
    write_files(tmp_path / "ensemble", {"1": None, "config.pbtxt": ENSEMBLE % (RIGHT | wrong)})
    assert [fault.rule for fault in check([tmp_path]).faults if fault.severity is not Severity.NOTE] == rules
    shutil.rmtree(served.repository / "ensemble", ignore_errors=True)
    shutil.copytree(tmp_path / "ensemble", served.repository / "ensemble")
    if rules:
        with pytest.raises(InferenceServerException, match=r"in ensemble|ensemble ensemble allows"):
            served.client.load_model("ensemble")
    else:
        served.client.load_model("ensemble")
        assert served.client.is_model_ready("ensemble")
        served.client.unload_model("ensemble")
