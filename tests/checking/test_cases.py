"""Rules' tests as data, cases/*.yaml: what is given, what the checker says, and what the real server does.

``files`` are those of a model (by default a Python model that answers), ``beside`` those of others. A case gives a
text, for the word HERE in them (its lines are indented as HERE is); or a pair, a part of them and what stands there
instead; or a mapping with ``given``, ``says`` (a rule, with ``:LINE``, or a list; by default what the file is called,
or nothing for a case that is only given), the first fault's ``severity``, and words of its ``message`` and ``cure``.
``parts`` are further such words as HERE, with a text for all cases that give none. ``rules`` are those that count, by
default all but notes; ``to`` is the destination, of all or of one. With ``server: asked`` the server refuses the cases
in which something is an error, with ``words`` of its own, and loads the others; ``completes``: one that completes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.checking.packing import folder_faults
from tests.checking.served import LoadResult, server_results
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
            given = part.replace("\n", f"\n{indent}")
            lines.append(re.sub(rf"(?<!\w){re.escape(place)}(?!\w)", lambda _, given=given: given, line))
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


def said(table: dict[str, Any], case: dict[str, Any], folder: Path) -> list[Fault]:
    stage(example(table, case["given"]), folder, "model")
    destination = Destination(**table.get("to", {}) | case.get("to", {}))
    found = folder_faults(folder, destination)
    rules = table.get("rules", {fault.rule for fault in found if fault.severity is not Severity.NOTE})
    return sorted((fault for fault in found if fault.rule in rules), key=Fault.sort_key)


def read(path: Path) -> dict[str, Any]:
    """A table, whose cases are all mappings."""
    table: dict[str, Any] = {"files": {}, **yaml.safe_load(path.read_text())}
    assert set(table) <= {"files", "beside", "parts", "rules", "to", "server", "cases"}, path
    for name, case in table["cases"].items():
        case = case if isinstance(case, dict) and "given" in case else {"given": case}
        assert set(case) <= {"given", "says", "severity", "message", "cure", "words", "to"}, (path, name)
        table["cases"][name] = {"says": path.stem if len(case) > 1 else [], **case}
    return table


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LoadResult]:
    """What the server says about the cases of all tables that ask it, by table and name."""
    answers: dict[str, LoadResult] = {}
    for kind in ("asked", "completes"):
        tables = {path.stem: table for path in TABLES if (table := read(path)).get("server") == kind}
        given: dict[str, Example] = {}
        beside: dict[str, str | None] = {}
        for stem, table in tables.items():
            given |= {f"{stem}-{name}": example(table, case["given"]) for name, case in table["cases"].items()}
            for path, text in table.get("beside", {}).items():
                assert beside.setdefault(path, text) == text, f"{path} of {stem}.yaml is another one in another table"
        answers |= server_results(given, tmp_path_factory.mktemp(kind), completes=kind == "completes")
    return answers


@pytest.mark.verdicts
@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_checker_and_server_do_what_the_case_says(path: Path, results: dict[str, LoadResult], tmp_path: Path) -> None:
    """Otherwise a model that is wrong is deployed, or one that is right is refused."""
    table = read(path)
    for name, case in table["cases"].items():
        says = case["says"] if isinstance(case["says"], list) else [case["says"]]
        found = said(table, case, tmp_path / f"alone-{name}")
        lines = [f"{fault.rule}:{fault.place.line}" for fault in found]
        rules = [line if ":" in rule else line.partition(":")[0] for line, rule in zip(lines, says, strict=False)]
        assert rules == says and len(found) == len(says), (name, lines)
        assert all(rule.partition(":")[0] in RULES_BY_ID for rule in says), name
        assert all(case[key] in str(getattr(found[0], key)) for key in {"message", "cure", "severity"} & set(case)), (
            name,
            found,
        )
        if "server" in table:
            refused = any(fault.severity is Severity.ERROR for fault in found)
            result = results[f"{path.stem}-{name}"]
            assert result.loaded is not refused, (name, result.words)
            assert case.get("words", "") in result.words, (name, result.words)
