"""Rules' tests as data, archive_cases/*.yaml: what is in an archive, what the checker says, and what SageMaker does.

``members`` are those of model.tar.gz (``archive`` names it otherwise), by default an ensemble ``one`` of the Python step
``one.step``. A case gives further ones, or others instead: a text, a pair (a part of the text, and what stands there
instead), null for a folder, a mapping for what is in a folder or in an inner .tar.gz, or a tag of pieces.py (``!link``,
``!environment``, ``!gone`` …). ``b.tar.gz!PATH`` is in another archive of the endpoint. Names in capitals are words in
the members, as in test_cases.py, whose ``parts``, ``says``, ``rules``, ``to`` and words of the first fault are here too;
``place`` is its end. ``folder`` says that the members are files of a folder with this path, such as ensembles/mine.
With ``server: asked`` the endpoint loads and answers each case, unless it ``refuses`` the archive or ``fails`` to answer
in these words; what it ``answers``; ``detects`` are the folders that it takes for ensembles.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.checking.endpoint import Endpoint
from tests.checking.packing import Content, faults, write, write_folder
from tests.checking.packing import members as members_of_an_ensemble
from tests.checking.pieces import GONE, flat, member, read_table
from tests.checking.test_cases import TABLES as TABLES_OF_MODELS
from tests.checking.test_cases import example, filled
from tests.checking.test_cases import read as read_models
from triton_ensembles.checking.fault import Fault
from triton_ensembles.checking.registry import RULES_BY_ID
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.triton.destination import SingleModel
from triton_ensembles.triton.sagemaker_server import SageMakerServer

TABLES = sorted(Path(__file__).with_name("archive_cases").glob("*.yaml"))
KEYS = {"given", "says", "to", "archive", "severity", "message", "effect", "cure", "place"}
OF_FILES = {rule.id for rule in RULES_BY_ID.values() if ".rules.model_files." in rule.find.__module__}
OF_SERVER = {"refuses", "fails", "answers", "detects"}


def archives(table: dict[str, Any], case: dict[str, Any], name: str = "model.tar.gz") -> dict[str, dict[str, Content]]:
    """The members of each archive of a case, in order; ``name`` is that of the archive which no path names."""
    given = case["given"] if isinstance(case["given"], dict) else {"HERE": case["given"]}
    parts = table.get("parts", {}) | {word: part for word, part in given.items() if str(word).isupper()}
    own = {path: part for path, part in given.items() if not str(path).isupper()}
    made: dict[str, dict[str, Content]] = {}
    for full, part in [*flat(table.get("members", members_of_an_ensemble("one"))), *flat(own)]:
        archive, _, path = full.rpartition("!")
        members = made.setdefault(archive or case.get("archive", name), {})
        if part is GONE:
            del members[path]
        elif isinstance(part, list):
            text, (old, new) = str(members[path]), part
            assert old in text, (path, old)
            members[path] = text.replace(old, new, 1)
        else:
            members[path] = member(path, part)
    for members in made.values():
        members |= {path: filled(text, parts) for path, text in members.items() if isinstance(text, str)}
    return made


def found_in(table: dict[str, Any], case: dict[str, Any], folder: Path) -> list[Fault]:
    made, to = archives(table, case), table.get("to", {}) | case.get("to", {})
    if place := table.get("folder"):
        paths = [write_folder(folder / place, members) for members in made.values()]
    else:
        paths = [write(folder / name, members) for name, members in made.items()]
    single = {"single": SingleModel(**to["single"])} if "single" in to else {}
    return [fault for fault in faults(*paths, **to | single) if fault.rule in table.get("rules", (fault.rule,))]


def read(path: Path) -> dict[str, Any]:
    """A table, whose cases are all mappings."""
    table: dict[str, Any] = read_table(path)
    assert set(table) <= {"members", "folder", "parts", "rules", "to", "server", "cases"}, path
    assert set(table.get("rules", ())) <= RULES_BY_ID.keys(), path
    for name, case in table["cases"].items():
        case = case if isinstance(case, dict) and "given" in case else {"given": case}
        assert set(case) <= (KEYS | OF_SERVER if "server" in table else KEYS), (path, name)
        says = case.get("says", path.stem if KEYS & set(case) - {"given", "to", "archive"} else [])
        table["cases"][name] = {**case, "says": says if isinstance(says, list) else [says]}
    return table


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_checker_says_what_the_case_says(path: Path, tmp_path: Path) -> None:
    """Otherwise an archive is uploaded that does not load or answer, or one that is right is refused."""
    table = read(path)
    for name, case in table["cases"].items():
        found = found_in(table, case, tmp_path / name)
        lines = [f"{fault.rule}:{fault.place.line}" for fault in found]
        said = [line if line in case["says"] else fault.rule for line, fault in zip(lines, found, strict=True)]
        assert sorted(said) == sorted(case["says"]), (name, lines)
        assert all(rule.partition(":")[0] in RULES_BY_ID for rule in said), name
        for key in {"severity", "message", "effect", "cure"} & set(case):
            assert case[key] in str(getattr(found[said.index(case["says"][0])], key)), (name, key, found)
        if "place" in case:
            assert str(found[said.index(case["says"][0])].place).endswith(case["place"]), (name, found)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    folder = tmp_path_factory.mktemp("endpoint")
    (folder / "empty").mkdir()
    with SageMakerServer(folder / "empty", log=folder / "triton.log") as server:
        yield Endpoint(server, folder)


@pytest.mark.parametrize(
    "path", [path for path in TABLES if "server: asked" in path.read_text()], ids=lambda path: path.stem
)
def test_sagemakers_front_end_does_what_the_case_says(path: Path, endpoint: Endpoint, tmp_path: Path) -> None:
    """Otherwise the rule reports what SageMaker loads, or quotes words that the server does not use."""
    table = read(path)
    for name, case in table["cases"].items():
        ((archive, members),) = archives(table, case, f"{path.stem}-{name}.tar.gz").items()
        status, body = endpoint.load(write(tmp_path / archive, members))
        assert (status, case.get("refuses", "") in body) == (400 if "refuses" in case else 200, True), (name, body)
        assert endpoint.detected == set(case.get("detects", endpoint.detected)), name
        if status == 200:
            status, body = endpoint.invoke()
            assert (status == 200) is ("fails" not in case), (name, body)
            assert case.get("fails", case.get("answers", '"data":[1.0,2.0,3.0,4.0]')) in body, (name, body)
            endpoint.unload()


def test_files_in_archives_are_read_as_those_in_folders(tmp_path: Path) -> None:
    """Otherwise a model is right on disk and wrong in its archive, or the other way round."""
    for path in TABLES_OF_MODELS:
        table = read_models(path)
        for name, case in table["cases"].items() if path.stem in OF_FILES else ():
            folder = tmp_path / f"{path.stem}-{name}"
            stage(example(table, case["given"]), folder, "model")
            packed = {str(file.relative_to(folder)): _content(file) for file in sorted(folder.rglob("*"))}
            both = folder, write(tmp_path / f"{path.stem}-{name}.tar.gz", packed)
            on_disk, in_archive = ({fault.rule for fault in faults(place)} & OF_FILES for place in both)
            assert on_disk == in_archive, (path, name)


def _content(file: Path) -> bytes | None:
    return None if file.is_dir() else file.read_bytes()
