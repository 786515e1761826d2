"""What lies beside the models, and configs under other names, on the real tritonserver as people start it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.checking import test_cases
from tests.checking.packing import MODEL_PY, Content, ensemble_of, python_step, write_folder
from tests.checking.test_cases import example, read
from triton_ensembles.checking import check
from triton_ensembles.checking.examples import IDENTITY
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.server import TritonServer

GOOD = {"step/config.pbtxt": python_step(), "step/1/model.py": MODEL_PY}
TABLE = read(Path(test_cases.__file__).with_name("cases") / "folder-not-a-model.yaml")
GOOD_BESIDE = {name for name, case in TABLE["cases"].items() if case["says"] in ([], "model-without-config")}


def lay(folder: Path, files: Mapping[str, Content]) -> Path:
    return write_folder(folder, {**GOOD, **files})


def start(folder: Path, names: set[str]) -> list[str]:
    """Start the real server as people do, with auto-completion: the lines of its refusal, [] if it starts."""
    for name in names:
        stage(example(TABLE, TABLE["cases"][name], "model"), folder / "models", "model")
    server = TritonServer([folder / "models"], log=folder / "log")
    completing = tuple(flag for flag in server.command.arguments if flag != "--disable-auto-complete-config")
    server.command = replace(server.command, arguments=completing)
    try:
        with server:
            return []
    except EnsembleError as error:
        return error.message.splitlines()[1:]


def test_the_real_server_refuses_each_of_them(tmp_path: Path) -> None:
    """Otherwise the checker's error is none."""
    bad = TABLE["cases"].keys() - GOOD_BESIDE
    assert {line.split(":")[0].strip() for line in start(tmp_path, bad)} == bad
    assert "failed to load all models" in (tmp_path / "log").read_text()


def test_the_real_server_starts_beside_the_others(tmp_path: Path) -> None:
    """Otherwise the checker passes what keeps a server from starting."""
    assert start(tmp_path, GOOD_BESIDE) == []


def test_a_folder_whose_only_config_has_another_name_is_no_riddle(tmp_path: Path) -> None:
    """Otherwise people read that there is no model, and see one."""
    write_folder(tmp_path, {"step/Config.pbtxt": python_step()})
    with pytest.raises(EnsembleError, match=r"rename .*step/Config.pbtxt to config.pbtxt"):
        check([tmp_path])


LOST = "in its default mode the server does not start, so the other 2 models are also lost"


@pytest.mark.parametrize(("instance", "costs_all"), [("", True), ("ml.c5.xlarge", False)])
def test_one_bad_model_is_said_to_cost_all(instance: str, costs_all: bool, tmp_path: Path) -> None:
    """Otherwise people deploy the good ones beside it, and nothing is served. SageMaker loads them one by one."""
    bad = {"bad/config.pbtxt": python_step().replace("max_batch_size: 8", "max_batch_size: -8"), "bad/1/model.py": ""}
    lay(tmp_path, {**bad, "fine/config.pbtxt": ensemble_of("step"), "fine/1": None})
    faults = check([tmp_path], Destination(instance=instance)).faults
    effect = next(fault.effect for fault in faults if fault.rule == "max-batch-size-negative")
    assert effect.endswith(LOST) is costs_all


@pytest.mark.parametrize(
    ("code", "costs_all"),
    [(IDENTITY.replace("return", "np.float\n        return"), False), (f"{IDENTITY}\nnp.float\n", True)],
)
def test_what_fails_at_requests_is_not_said_to_cost_all(code: str, costs_all: bool, tmp_path: Path) -> None:
    """Otherwise one line says that the model loads, and that the server does not start."""
    bad = {"bad/config.pbtxt": python_step(), "bad/1/model.py": f"import numpy as np\n{code}"}
    lay(tmp_path, {**bad, "fine/config.pbtxt": ensemble_of("step"), "fine/1": None})
    effect = next(fault.effect for fault in check([tmp_path]).faults if fault.rule == "model-py-numpy-version")
    assert effect.startswith("the model loads") is not costs_all
    assert effect.endswith(LOST) is costs_all
