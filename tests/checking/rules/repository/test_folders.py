"""What lies beside the models, and configs under other names, on the real tritonserver as people start it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.checking.packing import MODEL_PY, Content, ensemble_of, python_step, write_folder
from triton_ensembles.checking import check
from triton_ensembles.checking.examples import IDENTITY
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.server import TritonServer

GOOD = {"step/config.pbtxt": python_step(), "step/1/model.py": MODEL_PY}
# What each entry beside the models, or in them, is for the checker.
FOLDERS: dict[str, tuple[dict[str, Content], set[str]]] = {
    ".git": ({".git/HEAD": "ref: refs/heads/main\n"}, {"folder-not-a-model"}),
    ".ipynb_checkpoints": ({".ipynb_checkpoints": None}, {"folder-not-a-model"}),
    "__pycache__": ({"__pycache__/helpers.cpython-311.pyc": ""}, {"folder-not-a-model"}),
    "docs": ({"docs/README.md": "Ours.\n"}, {"folder-not-a-model"}),
    "1": ({"1/model.bin": ""}, {"folder-not-a-model"}),
    "capital": ({"capital/Config.pbtxt": ensemble_of("step"), "capital/1": None}, {"config-misnamed"}),
    "prototxt": ({"prototxt/config.prototxt": ensemble_of("step"), "prototxt/1": None}, {"config-misnamed"}),
    "named": ({"named/named.pbtxt": ensemble_of("step"), "named/1": None}, {"config-misnamed"}),
    "inner": ({"inner/1/config.pbtxt": ensemble_of("step")}, {"config-misnamed"}),
    # These load.
    "files": ({"README.md": "Ours.\n", ".gitignore": "*.pyc\n", ".DS_Store": "", "step/config.pbtxt.bak": "x"}, set()),
    "in a model": ({"step/.git/HEAD": "", "step/.ipynb_checkpoints": None, "step/1/__pycache__": None}, set()),
    "bare": ({"bare/1/model.py": IDENTITY}, {"model-without-config"}),
}
BAD = {name: files for name, (files, rules) in FOLDERS.items() if rules - {"model-without-config"}}


def lay(folder: Path, files: Mapping[str, Content]) -> Path:
    return write_folder(folder, {**GOOD, **files})


@pytest.mark.parametrize(("files", "expected"), FOLDERS.values(), ids=FOLDERS)
def test_what_is_not_a_model_is_named(files: dict[str, Content], expected: set[str], tmp_path: Path) -> None:
    """Otherwise a repository without faults does not start, or one that starts has faults."""
    assert {fault.rule for fault in check([lay(tmp_path / "models", files)]).faults} == expected


def start(folder: Path, names: set[str]) -> list[str]:
    """Start the real server as people do, with auto-completion: the lines of its refusal, [] if it starts."""
    for name in names:
        lay(folder / "models", FOLDERS[name][0])
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
    refused = start(tmp_path, set(BAD))
    assert {line.split(":")[0].strip() for line in refused} == set(BAD)
    assert "failed to load all models" in (tmp_path / "log").read_text()


def test_the_real_server_starts_beside_the_others(tmp_path: Path) -> None:
    """Otherwise the checker passes what keeps a server from starting."""
    assert start(tmp_path, FOLDERS.keys() - BAD) == []


def test_folders_of_other_tools_are_not_read(tmp_path: Path) -> None:
    """Otherwise a checkout's .git is taken for text, which takes minutes."""
    lay(tmp_path, {".git/config.pbtxt": "not a config", "step/1/__pycache__/model.py": "not Python"})
    assert {fault.rule for fault in check([tmp_path]).faults} == {"folder-not-a-model"}


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
