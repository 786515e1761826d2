"""Archives for SageMaker: what its front end serves, and what they may contain."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tests.checking.packing import MODEL_PY, Content, ensemble_of, faults, link, members, python_step, rules, write
from triton_ensembles.checking.examples import ensemble, step

SPACE = 'platform : "ensemble"'
ENSEMBLE: dict[str, Content] = {"one/config.pbtxt": ensemble_of("one.step"), "one/1": None}
STEP: dict[str, Content] = {"step/config.pbtxt": python_step(), "step/1/model.py": MODEL_PY}


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        ({**ENSEMBLE, "one.step/README.md": "x"}, "step-not-a-model"),
        ({**ENSEMBLE, "one.step/1": None}, "step-not-a-model"),
        ({"config.pbtxt": ensemble_of("step"), "1/README.md": "keep", **STEP}, "sagemaker-root-config"),
        ({**STEP, ".ipynb_checkpoints/x": "left behind"}, "sagemaker-no-ensemble"),
        ({**STEP, "e/config.pbtxt": ensemble_of("step", SPACE), "e/1": None}, "sagemaker-ensemble-not-seen"),
        ({**members(), "link": link("link", "one")}, "sagemaker-symbolic-link"),
        ({**members(), "link": link("link", "one/config.pbtxt", tarfile.LNKTYPE)}, "sagemaker-hard-link"),
        ({**members(), "pipe": link("pipe", "", tarfile.FIFOTYPE)}, "sagemaker-device"),
        ({**members(), "/etc/passwd": "root"}, "sagemaker-unsafe-member"),
        ({**members(), "../../up": "root"}, "sagemaker-unsafe-member"),
        ({**members(), "one.step/1/__pycache__/model.cpython-311.pyc": b"\0"}, "sagemaker-bytecode"),
        ({**members(), "./one/config.pbtxt": ensemble_of("one.step")}, "sagemaker-repeated-member"),
    ],
)
def test_each_fault_of_an_archive_is_named(files: dict[str, Content], rule: str, tmp_path: Path) -> None:
    """Otherwise a quarter of an hour later SageMaker refuses the archive, or serves another model."""
    assert rule in rules(write(tmp_path / "bad.tar.gz", files))


@pytest.mark.parametrize(
    ("name", "ok"),
    [("modell-1.tar.gz", True), ("team two.tar.gz", True), ("modèle.tar.gz", False), (" a.tar.gz", False)],
)
def test_a_name_that_no_request_can_contain(name: str, ok: bool, tmp_path: Path) -> None:
    """Otherwise an uploaded model can never be invoked."""
    assert ("sagemaker-target-model" in rules(write(tmp_path / name, members()))) is not ok


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("model (1)", {"sagemaker-stub-name-in-shell"}),
        ("my model", {"sagemaker-stub-name-in-shell"}),
        ("model[1]", {"sagemaker-stub-name"}),
        ("model-1", set()),
    ],
)
def test_a_single_python_model_needs_a_name_for_a_shell(name: str, found: set[str], tmp_path: Path) -> None:
    """Otherwise its stub does not start, or releases from 25.08 refuse it as an invalid stub name."""
    assert rules(write(tmp_path / f"{name}.tar.gz", STEP)) == found
    alone = {path.removeprefix("step/"): text for path, text in STEP.items()}
    assert rules(write(tmp_path / f"{name}.tar.gz", alone)) == found
    assert rules(write(tmp_path / f"{name}.tar.gz", members())) == set()


def test_a_model_that_model_py_calls_has_to_be_a_step(tmp_path: Path) -> None:
    """Otherwise a model that works locally fails on SageMaker for each request."""
    call = """\
import triton_python_backend_utils as p
TARGET = "helper"


def ask(x):
    return p.InferenceRequest(model_name=TARGET, inputs=[x], requested_output_names=["Y"])
"""
    files = {**members(model_py="from ask import ask\n" + MODEL_PY), "one.step/1/ask.py": call}
    helper: dict[str, Content] = {"helper/config.pbtxt": python_step(), "helper/1/model.py": MODEL_PY}
    found = faults(write(tmp_path / "a.tar.gz", {**files, **helper}))
    assert [(fault.rule, fault.place.line) for fault in found] == [("sagemaker-bls", 6)]
    assert found[0].place.path.endswith("a.tar.gz!one.step/1/ask.py")
    both = ensemble(step("one.step", {"X": "X"}, {"Y": "T"}), step("helper", {"X": "T"}, {"Y": "Y"}))
    assert rules(write(tmp_path / "b.tar.gz", {**files, **helper, "one/config.pbtxt": both})) == set()


def test_junk_is_a_fault_and_does_not_crash(tmp_path: Path) -> None:
    """Otherwise a broken upload stops the check of all the others."""
    good = write(tmp_path / "good.tar.gz", members()).read_bytes()
    for number, data in enumerate((b"", b"junk" * 99, good[:200])):
        path = tmp_path / f"{number}.tar.gz"
        path.write_bytes(data)
        assert not any("this rule itself failed" in fault.message for fault in faults(path))
