"""What lies beside the models, and configs under other names, on the real tritonserver as people start it."""

from pathlib import Path

import pytest

from tests.checking import test_cases
from tests.checking.packing import MODEL_PY, Content, ensemble_of, python_step
from tests.checking.reports import run
from tests.checking.test_cases import example, read
from tests.files import write_files
from tests.repositories import write_chain
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.examples import IDENTITY
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.destination import Destination

TABLE = read(Path(test_cases.__file__).with_name("cases") / "folder-not-a-model.yaml")
GOOD_BESIDE = {name for name, case in TABLE["cases"].items() if case["says"] in ([], ["model-without-config"])}
LOST = "in its default mode the server does not start, so the other 2 models are also lost"


def start(folder: Path, names: set[str]) -> list[str]:
    """Start the real server as people do, with auto-completion: the lines of its refusal, [] if it starts."""
    for name in names:
        stage(example(TABLE, TABLE["cases"][name], "model"), folder / "models", "model")
    server = TritonServer([folder / "models"], log=folder / "log")
    try:
        with server:
            return []
    except EnsembleError as error:
        return error.message.splitlines()[1:]


def test_the_real_server_refuses_each_of_them_and_starts_beside_the_others(tmp_path: Path) -> None:
    """Otherwise the checker's error is none, or the checker passes what keeps a server from starting."""
    bad = TABLE["cases"].keys() - GOOD_BESIDE
    assert {line.split(":")[0].strip() for line in start(tmp_path / "bad", bad)} == bad
    assert "failed to load all models" in (tmp_path / "bad" / "log").read_text()
    assert start(tmp_path / "good", GOOD_BESIDE) == []


def test_a_folder_whose_only_config_has_another_name_is_no_riddle(tmp_path: Path) -> None:
    """Otherwise people read that there is no model, and see one."""
    write_files(tmp_path, {"step/Config.pbtxt": python_step()})
    with pytest.raises(EnsembleError, match=r"rename .*step/Config.pbtxt to config.pbtxt"):
        check([tmp_path])


@pytest.mark.parametrize(
    ("size", "code", "instance", "costs_all"),
    [
        (-8, "", "", True),
        (-8, "", "ml.c5.xlarge", False),  # SageMaker loads them one by one
        (8, IDENTITY.replace("return", "nothing\n        return"), "", False),  # what fails at requests
        (8, f"{IDENTITY}\nnothing\n", "", True),
    ],
)
def test_one_bad_model_is_said_to_cost_all(
    size: int, code: str, instance: str, costs_all: bool, tmp_path: Path
) -> None:
    """Otherwise people deploy the good ones beside it, and nothing is served."""
    files: dict[str, Content] = {"step/config.pbtxt": python_step(), "step/1/model.py": MODEL_PY}
    files |= {"fine/config.pbtxt": ensemble_of("step"), "fine/1": None, "bad/1/model.py": code}
    files |= {"bad/config.pbtxt": python_step().replace("8", str(size))}
    faults = check([write_files(tmp_path, files)], Destination(instance=instance)).faults
    rules = ("max-batch-size-negative", "model-py-undefined-name")
    effect = next(fault.effect for fault in faults if fault.rule in rules)
    assert effect.endswith(LOST) is costs_all
    assert effect.startswith("the model loads") is not (costs_all or bool(instance))


def test_repositories_below_a_git_root_are_found_and_named(tmp_path: Path) -> None:
    """Otherwise check in half of all projects finds nothing, or takes folders of code for models."""
    for place in ("deploy/triton/models", "services/speech/repository"):
        write_chain(tmp_path / place)
    for other in ("src/1/code.py", "config/config.py", ".git/1/model.py", "dist/models/m/config.pbtxt"):
        (tmp_path / other).parent.mkdir(parents=True)
        (tmp_path / other).touch()
    result = run(tmp_path)
    assert "no faults in 2 repositories" in result.stdout
    assert f"found: {tmp_path}/deploy/triton/models and {tmp_path}/services/speech/repository" in result.stderr
    (tmp_path / "deploy/triton/models/six/config.pbtxt").write_text("max_batchsize: 1")
    assert "models/six/config.pbtxt:1" in run(tmp_path).stdout


def test_a_folder_of_code_is_no_misspelt_config(tmp_path: Path) -> None:
    (tmp_path / "config.pbtxt.d").mkdir()
    (tmp_path / "config").mkdir()
    result = run(tmp_path)
    assert "there is no model here" in result.stderr and "rename" not in result.stderr
