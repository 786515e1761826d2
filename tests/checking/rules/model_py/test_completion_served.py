"""auto_complete_config before a server that completes configs: it refuses what contradicts config.pbtxt."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking.served import server_results
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.rule import Example, Severity
from triton_ensembles.checking.staging_example import stage

RULES, POLICY = ("model-py-completion-differs", "model-py-auto-complete"), "model_transaction_policy"
X = '{"name": "X", "data_type": "TYPE_FP32", "dims": [4]}'
X8 = X.replace("[4]", "[8]")


def model(*lines: str, more: str = "") -> Example:
    """A model with input X and output Y, FP32 [4], whose auto_complete_config has these lines."""
    body = "".join(f"        {line}\n" for line in (*lines, "return config"))
    method = f"    @staticmethod\n    def auto_complete_config(config):\n{body}\n    def execute"
    return Example(python_model(more), {"1/model.py": IDENTITY.replace("    def execute", method, 1)})


def method(text: str) -> Example:
    """A model with this auto_complete_config."""
    return Example(python_model(), {"1/model.py": f"{IDENTITY}\n    {text}\n"})


# Whether the server refuses it.
CASES = {
    "not-static": (True, method("def auto_complete_config(self, config): return config")),
    "returns-nothing": (True, method("def auto_complete_config(config): config.set_max_batch_size(8)")),
    "no-argument": (True, method("@staticmethod\n    def auto_complete_config(): return None")),
    "on-the-class": (True, method("@classmethod\n    def auto_complete_config(config): return config")),
    "plain": (False, method("def auto_complete_config(config): return config")),
    "of-class": (False, method("@classmethod\n    def auto_complete_config(cls, config): return config")),
    "dims": (True, model(f"x = {X8}", "config.add_input(x)")),
    "variable": (True, model('config.add_input({"name": "X", "data_type": "TYPE_FP32", "dims": [-1]})')),
    "type": (True, model('config.add_output({"name": "Y", "data_type": "TYPE_FP16", "dims": [4]})')),
    "optional": (True, model(f'config.add_input({X[:-1]}, "optional": True}})')),
    "property": (True, model(f'config.add_input({X[:-1]}, "shape": [4]}})')),
    "decoupled": (True, model(f'config.set_{POLICY}({{"decoupled": True}})', more=f"{POLICY} {{ decoupled: false }}")),
    "batch": (True, model("config.set_max_batch_size(-1)")),
    "same": (False, model(f"config.add_input({X})", "config.set_max_batch_size(8)")),
    "larger": (False, model("config.set_max_batch_size(64)")),
    "corrected": (False, model(f"x = {X8}", 'x["dims"] = [4]', "config.add_input(x)")),
    "asked": (False, model('if not config.as_dict()["input"]:', f"    config.add_input({X8})")),
    "other": (False, model("if True:", "    return config", 'config.add_output({"name": "Y"})')),
}


@pytest.mark.verdicts
def test_the_rule_says_what_the_server_does(tmp_path: Path) -> None:
    """Otherwise a model that its own code contradicts passes check, and no default server loads it."""
    results = server_results({name: example for name, (_, example) in CASES.items()}, tmp_path, completes=True)
    refused = {name for name, (is_refused, _) in CASES.items() if is_refused}
    assert {name for name, result in results.items() if not result.loaded} == refused, results
    faults = [fault for fault in check([tmp_path / "models"]).faults if fault.rule in RULES]
    assert {fault.place.path.split("/")[-3] for fault in faults} == refused
    assert {fault.severity for fault in faults} == {Severity.ERROR}


def test_what_this_project_serves_without_completion_is_warned_of(tmp_path: Path) -> None:
    """Otherwise an archive that runs on the endpoint that deploy makes is not deployed."""
    stage(CASES["not-static"][1], tmp_path, "m")
    (tmp_path / "manifest.json").write_text('{"target": "cpu"}')
    assert [fault.severity for fault in check([tmp_path]).faults if fault.rule in RULES] == [Severity.WARNING]
