"""``build --prove``: an archive that does not load never gets into dist/."""

from pathlib import Path

import pytest

from tests.chain import NAME, write_chain
from tests.places import built_by
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.building.request import Proof
from triton_ensembles.ground.errors import EnsembleError


def make(project: Path) -> Built:
    return built_by(Places.of(project), NAME, proof=Proof.ANSWERS)


def test_what_does_not_load_is_refused_and_dist_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise a green build gives an archive of which every load fails on SageMaker."""
    write_chain(tmp_path)
    assert make(tmp_path).proof is Proof.ANSWERS
    assert "proving" in capsys.readouterr().out
    assert make(tmp_path).proof is Proof.ANSWERS
    assert "proving" not in capsys.readouterr().out
    step = tmp_path / "ensembles" / NAME / "second" / "1" / "model.py"
    step.write_text(step.read_text() + "\n    def initialize(self, args):\n        int('no such license')\n")
    before = {path: path.read_bytes() for path in (tmp_path / "dist").rglob("*") if path.is_file()}
    with pytest.raises(EnsembleError, match="does not load") as caught:
        make(tmp_path)
    assert "no such license" in str(caught.value) and "models/proof" not in str(caught.value)
    assert {path: path.read_bytes() for path in (tmp_path / "dist").rglob("*") if path.is_file()} == before
    assert not list((tmp_path / "dist").rglob(".*.partial"))


def test_what_loads_and_does_not_answer_as_its_config_says_is_refused(tmp_path: Path) -> None:
    """Otherwise the first client finds it, on AWS."""
    write_chain(tmp_path)
    step = tmp_path / "ensembles" / NAME / "second" / "1" / "model.py"
    step.write_text(step.read_text().replace("x + 1)", "(x + 1).sum(axis=int(1)))"))
    with pytest.raises(
        EnsembleError, match=r"(?s)do not answer as they should.*second/config.pbtxt:\d+:\d+: error\[run-answer"
    ) as caught:
        make(tmp_path)
    assert "has the shape [1], and the config says [1, 3]" in str(caught.value)
    assert not list((tmp_path / "dist").rglob("*.tar.gz"))


def test_a_server_that_ends_in_loading_is_tried_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise a very busy machine, on which Triton gives up on slow stubs and aborts, refuses a good archive."""
    write_chain(tmp_path)
    step, died = tmp_path / "ensembles" / NAME / "second" / "1" / "model.py", tmp_path / "died"
    once = f"import os, signal\nif not os.path.exists({str(died)!r}):\n    open({str(died)!r}, 'w').close()\n"
    step.write_text(f"{once}    os.kill(os.getppid(), signal.SIGABRT)\n{step.read_text()}")
    assert make(tmp_path).proof is Proof.ANSWERS
    assert "trying once more" in capsys.readouterr().out
