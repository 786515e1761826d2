"""auto_complete_config before a server that completes configs: it refuses what contradicts config.pbtxt."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking.served import LoadResult, ModelLoader
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage

RULE = "model-py-completion-differs"
X = '{"name": "X", "data_type": "TYPE_FP32", "dims": [4]}'


def model(*lines: str, more: str = "") -> Example:
    """A model with input X and output Y, FP32 [4], whose auto_complete_config has these lines."""
    body = "".join(f"        {line}\n" for line in (*lines, "return config"))
    method = f"    @staticmethod\n    def auto_complete_config(config):\n{body}\n    def execute"
    return Example(
        python_model(more) if more else python_model(), {"1/model.py": IDENTITY.replace("    def execute", method, 1)}
    )


# Whether the server refuses it.
CASES = {
    "dims": (True, model('x = {"name": "X", "data_type": "TYPE_FP32", "dims": [8]}', "config.add_input(x)")),
    "variable": (True, model('config.add_input({"name": "X", "data_type": "TYPE_FP32", "dims": [-1]})')),
    "type": (True, model('config.add_output({"name": "Y", "data_type": "TYPE_FP16", "dims": [4]})')),
    "optional": (True, model(f'config.add_input({X[:-1]}, "optional": True}})')),
    "property": (True, model(f'config.add_input({X[:-1]}, "shape": [4]}})')),
    "decoupled": (
        True,
        model(
            'config.set_model_transaction_policy({"decoupled": True})',
            more="model_transaction_policy { decoupled: false }",
        ),
    ),
    "batch": (True, model("config.set_max_batch_size(-1)")),
    "same": (False, model(f"config.add_input({X})", "config.set_max_batch_size(8)")),
    "larger": (False, model("config.set_max_batch_size(64)")),
    "corrected": (
        False,
        model('x = {"name": "X", "data_type": "TYPE_FP32", "dims": [8]}', 'x["dims"] = [4]', "config.add_input(x)"),
    ),
    "asked": (
        False,
        model(
            'if not config.as_dict()["input"]:',
            '    config.add_input({"name": "X", "data_type": "TYPE_FP32", "dims": [8]})',
        ),
    ),
    "other": (False, model("if True:", "    return config", 'config.add_output({"name": "Y"})')),
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion") / "models"
    for name, (_, example) in CASES.items():
        stage(example, folder, name)
    return folder


@pytest.fixture(scope="module")
def results(repository: Path) -> dict[str, LoadResult]:
    with ModelLoader(repository, repository.parent, completes=True) as server:
        return server.load_all(list(CASES))


@pytest.fixture(scope="module")
def found(repository: Path) -> list[str]:
    return [fault.place.path.split("/")[-3] for fault in check([repository]).faults if fault.rule == RULE]


@pytest.mark.verdicts
@pytest.mark.parametrize("name", CASES)
def test_the_rule_says_what_the_server_does(name: str, found: list[str], results: dict[str, LoadResult]) -> None:
    """Otherwise a model that its own code contradicts passes check, and no default server loads it."""
    refused, _ = CASES[name]
    assert results[name].loaded != refused, results[name].words
    assert (name in found) == refused
