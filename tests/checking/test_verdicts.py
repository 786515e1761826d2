"""What the server said about models, on file: about which bytes, and that it is asked again."""

import json
from pathlib import Path

import pytest

from tests.checking import verdicts
from tests.files import write_files
from triton_ensembles.checking.examples import ensemble, python_model, step
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage


def test_a_verdict_is_about_a_model_and_its_steps(tmp_path: Path) -> None:
    """Otherwise a changed example keeps the verdict that it had."""
    stage(Example(ensemble(step("used", {"X": "X"}, {"Y": "Y"}))), tmp_path, "user")
    for name in ("used", "other"):
        stage(Example(python_model()), tmp_path, name)
    seen = [verdicts.digest_of(tmp_path, "user", completes) for completes in (False, True)]
    assert seen[0] != seen[1]
    changes = {"used/1/model.py": True, "used/labels.txt": True, "other/1/model.py": False}
    for path, changed in (changes | {"used/1/__pycache__/m.pyc": False, "user/config.pbtxt": True}).items():
        write_files(tmp_path, {path: "# new\n"})
        seen.append(verdicts.digest_of(tmp_path, "user", completes=False))
        assert (seen[-1] not in seen[:-1]) == changed, path


def test_another_verdict_of_the_server_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Otherwise the file and the server part ways, and the suite stays green."""
    data = json.loads(verdicts.FILE.read_text())
    assert data["judge"] == verdicts.judge(), "on file is what another server said: run make verdicts"
    digest, verdict = next(iter(data["verdicts"].items()))
    monkeypatch.setattr(verdicts, "MODE", "ask")
    verdicts.note(digest, verdict["name"], verdict["loaded"], "", tmp_path)
    with pytest.raises(AssertionError, match="the server says otherwise"):
        verdicts.note(digest, verdict["name"], not verdict["loaded"], "", tmp_path)
    with pytest.raises(AssertionError, match="run make verdicts"):
        verdicts.note("0" * 32, "new", True, "", tmp_path)
