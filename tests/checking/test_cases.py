"""Rules' tests as data, cases/*.yaml: what is given, what the checker says, and what the real server does.

``files`` are those of a model (by default a Python model that answers), ``beside`` those of others, by their paths from
the repository; null is an empty folder. The steps ``scale``, ``join`` and more of checking/examples.py come by
themselves; with ``ensemble.toml`` beside, the repository is ``ensembles/mine`` of a project. A case gives a text, for
the word HERE in them (its lines are indented as HERE is); or pairs, a part of them and what stands there instead; or a
mapping with ``given``, ``says`` (a rule, with ``:LINE`` or ``:LINE:COLUMN``, or a list; by default what the file is
called, or nothing for a case that is only given), the first fault's ``severity``, and words of its ``message`` and
``cure``. A case may have further ``files`` and files ``beside``, and a ``folder``, the model's name. ``parts`` are
further such words as HERE, with a text for all cases that give none; the word MODEL is the model's name, in the paths,
too; a text that nobody types is a tag of pieces.py (``!onnx``). ``rules`` are those that count, all by default, notes
if they are named; ``to`` is the destination, of all or of one. With ``server: asked`` the server refuses the cases in
which something is an error, with ``words`` of its own, and loads the others, unless a case says ``loads`` otherwise;
``completes``: one that completes.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.checking.conftest import quick_folder
from tests.checking.packing import folder_faults
from tests.checking.pieces import assert_said, read_table
from tests.checking.served import ModelLoader
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
        if place not in text:
            continue
        lines = []
        for line in text.split("\n"):
            indent = line[: len(line) - len(line.lstrip())] if line.strip() == place else ""
            given = part.replace("\n", f"\n{indent}").replace("\\", r"\\")
            lines.append(re.sub(rf"(?<!\w){re.escape(place)}(?!\w)", given, line))
        text = "\n".join(lines)
    return text


def example(table: dict[str, Any], case: dict[str, Any], name: str) -> Example:
    """The model of a case, which is called ``name`` unless the case has a folder."""
    given, folder = case.get("given", {}), case.get("folder", "")
    files, beside = table["files"] | case.get("files", {}), table.get("beside", {}) | case.get("beside", {})
    if isinstance(given, list):
        for old, new in zip(given[::2], given[1::2], strict=True):
            where = ((group, path) for group in (files, beside) for path, text in group.items() if text and old in text)
            group, path = next(where)
            group[path] = group[path].replace(old, new, 1)
        given = {}
    own = given if isinstance(given, dict) else {"HERE": given}
    others = {"MODEL": folder or name} | table.get("parts", {})
    parts = own | {place: part for place, part in others.items() if place not in own}
    files, beside = (
        {filled(str(path), parts): text and filled(text, parts) for path, text in group.items()}
        for group in (files, beside)
    )
    return Example(files.pop("config.pbtxt", python_model()), files or None, beside, folder)


def said(table: dict[str, Any], case: dict[str, Any], folder: Path) -> list[Fault]:
    stage(example(table, case, "model"), folder, "model")
    destination = Destination(**table.get("to", {}) | case.get("to", {}))
    if "rules" in table:
        found = folder_faults(folder, destination, [RULES_BY_ID[rule] for rule in table["rules"]])
    else:
        found = [fault for fault in folder_faults(folder, destination) if fault.severity is not Severity.NOTE]
    return sorted(found, key=Fault.sort_key)


@cache
def read(path: Path) -> dict[str, Any]:
    table = read_table(path, {"files", "beside"}, {"given", "files", "beside", "folder"}, {"words", "loads"}, set())
    return {"files": {}, **table}


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, ModelLoader]]:
    """The servers over the cases of all tables that ask one, called TABLE-CASE, by the word in the tables."""
    with ExitStack() as stack:
        loaders = {}
        for kind in ("asked", "completes"):
            folder = stack.enter_context(quick_folder())
            beside: dict[str, str | None] = {}
            for path in TABLES:
                table = read(path)
                for name, case in table["cases"].items() if table.get("server") == kind else ():
                    model = example(table, case, f"{path.stem}-{name}")
                    stage(model, folder / "models", f"{path.stem}-{name}")
                    for other, text in model.beside.items():
                        assert beside.setdefault(other, text) == text, (path, f"{other} is another one elsewhere")
            loaders[kind] = stack.enter_context(ModelLoader(folder / "models", folder, kind == "completes"))
        yield loaders


@pytest.mark.verdicts
@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_checker_and_server_do_what_the_case_says(
    path: Path, servers: dict[str, ModelLoader], quick_path: Path
) -> None:
    """Otherwise a model that is wrong is deployed, or one that is right is refused."""
    table = read(path)
    for name, case in table["cases"].items():
        found = said(table, case, quick_path / name / "ensembles" / "mine")
        assert_said(case, found, name)
        if "server" in table:
            refused = any(fault.severity is Severity.ERROR for fault in found)
            result = servers[table["server"]].verdict(case.get("folder") or f"{path.stem}-{name}")
            assert result.loaded is case.get("loads", not refused), (name, result.words)
            assert case.get("words", "") in result.words, (name, result.words)
