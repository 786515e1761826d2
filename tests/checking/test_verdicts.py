"""What the server said about models, on file: about which bytes, and that it is asked again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.checking import verdicts
from triton_ensembles.checking.examples import ensemble, python_model, step
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        ("user/config.pbtxt", True),
        ("used/1/model.py", True),
        ("used/labels.txt", True),
        ("other/1/model.py", False),
        ("used/1/__pycache__/model.pyc", False),
    ],
)
def test_a_verdict_is_about_a_model_and_its_steps(path: str, changes: bool, tmp_path: Path) -> None:
    """Otherwise a changed example keeps the verdict that it had."""
    stage(Example(ensemble(step("used", {"X": "X"}, {"Y": "Y"}))), tmp_path, "user")
    for name in ("used", "other"):
        stage(Example(python_model()), tmp_path, name)
    before = verdicts.digest_of(tmp_path, "user", completes=False)
    (tmp_path / path).parent.mkdir(exist_ok=True)
    with (tmp_path / path).open("a") as file:
        file.write("\n# the other\n")
    assert (verdicts.digest_of(tmp_path, "user", completes=False) != before) == changes
    assert verdicts.digest_of(tmp_path, "user", completes=True) != verdicts.digest_of(tmp_path, "user", completes=False)


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
