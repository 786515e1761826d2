"""Rules' tests as data, cases/*.yaml: what is given, what the checker says, and what the real server does.

``files`` are those of a model, ``beside`` those of others. A case gives a text, for the word HERE in them (its lines
are indented as HERE is); or a pair, a part of them and what stands there instead; or a mapping with ``given``, ``says``
(a rule, with ``:LINE``, or a list; by default what the file is called, or nothing for a case that is only given) and
words of the first fault's ``message`` and ``cure``. ``parts`` are further such words as HERE, with a text for all cases
that give none. ``rules`` are those that count, all by default. With ``server: asked`` the server refuses the cases in
which something is an error, with ``words`` of its own, and loads the others; ``completes``: one that completes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.checking.packing import folder_faults
from tests.checking.served import server_results
from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.fault import Fault, Severity
from triton_ensembles.checking.registry import RULES_BY_ID
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.triton.destination import Destination

TABLES = sorted(Path(__file__).with_name("cases").glob("*.yaml"))


def filled(text: str, parts: dict[str, str]) -> str:
    """``text`` with the parts of a case in their places."""
    for place, part in [*parts.items()] * 2:  # a part may have the places of others
        lines = []
        for line in text.split("\n"):
            indent = line[: len(line) - len(line.lstrip())] if line.strip() == place else ""
            lines.append(line.replace(place, part.replace("\n", f"\n{indent}")))
        text = "\n".join(lines)
    return text


def example(table: dict[str, Any], given: Any) -> Example:
    if isinstance(given, list):
        old, new = given
        files = dict(table["files"])
        changed = next(path for path, text in files.items() if old in text)
        files[changed] = files[changed].replace(old, new, 1)
    else:
        own = given if isinstance(given, dict) else {"HERE": given}
        parts = own | {place: part for place, part in table.get("parts", {}).items() if place not in own}
        files = {path: filled(text, parts) for path, text in table["files"].items()}
    return Example(files.pop("config.pbtxt", python_model()), files or None, table.get("beside", {}))


def said(table: dict[str, Any], case: Example, folder: Path) -> list[Fault]:
    stage(case, folder, "model")
    found = [fault for fault in folder_faults(folder, Destination()) if fault.severity is not Severity.NOTE]
    return sorted((fault for fault in found if fault.rule in table.get("rules", (fault.rule,))), key=Fault.sort_key)


@pytest.mark.verdicts
@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_checker_and_server_do_what_the_case_says(path: Path, tmp_path: Path) -> None:
    """Otherwise a model that is wrong is deployed, or one that is right is refused."""
    table = yaml.safe_load(path.read_text())
    assert set(table) <= {"files", "beside", "parts", "rules", "server", "cases"}
    examples, silent, said_by_server = {}, set(), {}
    for name, case in table["cases"].items():
        case = case if isinstance(case, dict) and "given" in case else {"given": case}
        assert set(case) <= {"given", "says", "message", "cure", "words"}, name
        says = case.get("says", path.stem if len(case) > 1 else [])
        says = says if isinstance(says, list) else [says]
        examples[name] = example(table, case["given"])
        found = said(table, examples[name], tmp_path / f"alone-{name}")
        lines = [f"{fault.rule}:{fault.place.line}" for fault in found]
        rules = [line if ":" in rule else line.partition(":")[0] for line, rule in zip(lines, says, strict=False)]
        assert rules == says and len(found) == len(says), (name, lines)
        assert all(rule.partition(":")[0] in RULES_BY_ID for rule in says), name
        for key in {"message", "cure"} & set(case):
            assert case[key] in getattr(found[0], key), (name, found)
        said_by_server |= {name: case["words"]} if "words" in case else {}
        silent |= set() if any(fault.severity is Severity.ERROR for fault in found) else {name}
    if "server" in table:
        results = server_results(examples, tmp_path, completes=table["server"] == "completes")
        assert {name for name, result in results.items() if result.loaded} == silent
        assert all(words in results[name].words for name, words in said_by_server.items())
