"""auto_complete_config of an archive for a server that completes nothing; cases/model-py-completion-differs.yaml."""

from __future__ import annotations

from pathlib import Path

from triton_ensembles.checking.checker import check
from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.rule import Example, Severity
from triton_ensembles.checking.staging_example import stage


def test_what_this_project_serves_without_completion_is_warned_of(tmp_path: Path) -> None:
    """Otherwise an archive that runs on the endpoint that deploy makes is not deployed."""
    code = f"{IDENTITY}\n    def auto_complete_config(self, config): return config\n"
    stage(Example(python_model(), {"1/model.py": code}), tmp_path, "m")
    (tmp_path / "manifest.json").write_text('{"target": "cpu"}')
    faults = [fault for fault in check([tmp_path]).faults if fault.rule == "model-py-auto-complete"]
    assert [fault.severity for fault in faults] == [Severity.WARNING]
