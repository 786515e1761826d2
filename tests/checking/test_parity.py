"""Every rule against the real tritonserver 2.51.0, which refuses the bad examples and loads the good ones."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.generators.rules import PAGE, page
from tests.checking.packing import folder_faults
from tests.checking.served import PATIENCE, ModelLoader
from triton_ensembles.checking.explanation import explain, text_examples
from triton_ensembles.checking.registry import RULES
from triton_ensembles.checking.rule import Rule, Server
from triton_ensembles.checking.staging_example import stage

TESTED = [rule for rule in RULES if rule.server in (Server.REFUSES, Server.ACCEPTS)]
DEADLY = [rule for rule in RULES if rule.server is Server.DIES]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelLoader]:
    """The server over all examples, by the names of their models."""
    folder = tmp_path_factory.mktemp("parity")
    for rule in [*TESTED, *DEADLY]:
        for example, kind in ((rule.bad, "bad"), (rule.good, "good")):
            if example and not (kind == "bad" and rule in DEADLY):
                stage(example, folder / "models", f"{rule.id}-{kind}")
    with ModelLoader(folder / "models", folder) as loader:
        yield loader


@pytest.mark.verdicts
@pytest.mark.parametrize("rule", TESTED, ids=lambda rule: rule.id)
def test_the_real_server_agrees(rule: Rule, server: ModelLoader) -> None:
    """Otherwise the checker refuses what Triton loads, or passes what Triton refuses."""
    if rule.bad:
        bad = server.verdict(rule.bad.folder or f"{rule.id}-bad")
        assert bad.loaded == (rule.server is Server.ACCEPTS), bad.words
        assert re.search(".*".join(map(re.escape, rule.words.split("…"))), bad.words), (rule.words, bad.words)
    if rule.good and rule.good_loads:
        good = server.verdict(rule.good.folder or f"{rule.id}-good")
        assert good.loaded, good.words


@pytest.mark.slow
@pytest.mark.parametrize("rule", DEADLY, ids=lambda rule: rule.id)
def test_the_real_server_hangs_or_dies(rule: Rule, server: ModelLoader, tmp_path: Path) -> None:
    """Otherwise the checker warns of a danger that does not exist."""
    assert rule.bad and rule.good
    name = stage(rule.bad, tmp_path / "models", f"{rule.id}-bad")
    with ModelLoader(tmp_path / "models", tmp_path) as mortal:
        assert not mortal.load(name, PATIENCE).survived
    assert server.load_surely(f"{rule.id}-good").loaded


def test_the_checker_finds_the_bad_one_and_nothing_in_the_good_one(quick_path: Path) -> None:
    """Otherwise a rule misses its own example, or one fault is reported under several names; or people see a fault's
    name and cannot find out what it means."""
    for rule in RULES:
        for example, expected in ((rule.bad, {rule.id}), (rule.good, set())):
            if example:
                folder = quick_path / f"{rule.id}-{len(expected)}"
                stage(example, folder, "model")
                findings = folder_faults(folder, rule.destination)
                assert {fault.rule for fault in findings} == expected, (rule.id, findings)
        texts = text_examples().get(rule.id, {})  # where an example is no model that the tests can load
        assert (rule.bad is None, rule.good is None) == ("bad" in texts, "good" in texts), rule.id
        text = explain(rule.id)
        assert text.startswith(f"{rule.id} ({rule.severities})\n{rule.title}\n")
        assert all(f"\n{part}" in text for part in ("\nBad:\n", "\nGood:\n", f"Source: {rule.source}"))
        assert not rule.bad or (f"{rule.severity}[{rule.id}]: " in text and "\n        fix: " in text), text
        assert not rule.words or f"\nServer: tritonserver 2.51.0 refuses the bad example: {rule.words}" in text
    assert set(text_examples()) <= {rule.id for rule in RULES}


def test_the_page_of_the_rules_is_up_to_date() -> None:
    """Otherwise it describes old rules: run python -m docs.generators.rules."""
    assert PAGE.read_text(encoding="utf-8") == page()
