"""Rules' tests as data, archive_cases/*.yaml: what is in an archive, what the checker says, and what SageMaker does.

``members`` are those of model.tar.gz (``archive`` names it otherwise), by default an ensemble ``one`` of the Python
step ``one.step``. A case gives further ones, or others instead: a text, a pair (a part of the text, and what stands
there instead), null for a folder, a mapping for what is in a folder or in an inner .tar.gz, or a tag of pieces.py
(``!link``, ``!environment``, ``!gone`` …). ``b.tar.gz!PATH`` is in another archive of the endpoint. Names in capitals
are words in the members, as in test_cases.py; its ``parts``, ``says``, ``rules``, ``to`` and the words of the first
fault are here too, and ``place``, its end. ``folder`` says that the members are the files of a folder with this path,
such as ensembles/mine. With ``server: asked`` the endpoint loads and answers each case, unless it ``refuses`` the
archive, or ``fails`` to answer, in these words; what it ``answers``; ``detects`` are the folders that it takes for
ensembles. ``unasked`` says why it is not asked about this case.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.checking.endpoint import Endpoint
from tests.checking.packing import Content, faults, write
from tests.checking.packing import members as members_of_an_ensemble
from tests.checking.pieces import GONE, assert_said, flat, member, read_table
from tests.checking.test_cases import example, filled
from tests.checking.test_cases import read as read_models
from tests.files import write_files
from triton_ensembles.checking.fault import Fault
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.triton.destination import SingleModel

CASES, TABLES = Path(__file__).with_name("cases"), sorted(Path(__file__).with_name("archive_cases").glob("*.yaml"))
OF_FILES = ("fil", "file-lfs-pointer", "graphdef", "model-file-broken", "onnx-license", "pytorch", "torchscript")
FAILED = "this rule itself failed"  # whichever rule that is, and whatever the table is about
OF_SERVER = {"refuses", "fails", "answers", "detects", "unasked"}


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
        paths = [write_files(folder / place, members) for members in made.values()]
    else:
        paths = [write(folder / name, members) for name, members in made.items()]
    single = {"single": SingleModel(**to["single"])} if "single" in to else {}
    found, rules = faults(*paths, **to | single), table.get("rules")
    return [fault for fault in found if not rules or fault.rule in rules or fault.message.startswith(FAILED)]


def read(path: Path) -> dict[str, Any]:
    return read_table(path, {"members", "folder"}, {"given"}, {"effect", "place"}, {"archive", *OF_SERVER})


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_checker_says_what_the_case_says(path: Path, tmp_path: Path) -> None:
    """Otherwise an archive is uploaded that does not load or answer, or one that is right is refused."""
    table = read(path)
    for name, case in table["cases"].items():
        assert_said(case, found_in(table, case, tmp_path / name), name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [path for path in TABLES if "server: asked" in path.read_text()], ids=lambda path: path.stem
)
def test_sagemakers_front_end_does_what_the_case_says(path: Path, endpoint: Endpoint, tmp_path: Path) -> None:
    """Otherwise the rule reports what SageMaker loads, or quotes words that the server does not use."""
    table = read(path)
    for name, case in ((name, case) for name, case in table["cases"].items() if "unasked" not in case):
        ((archive, members),) = archives(table, case, f"{path.stem}-{name}.tar.gz").items()
        status, body = endpoint.load(write(tmp_path / archive, members))
        assert (status, case.get("refuses", "") in body) == (400 if "refuses" in case else 200, True), (name, body)
        assert endpoint.detected == set(case.get("detects", endpoint.detected)), name
        if status == 200:
            status, body = endpoint.invoke()
            assert (status == 200) is ("fails" not in case), (name, body)
            assert case.get("fails", case.get("answers", '"data":[1.0,2.0,3.0,4.0]')) in body, (name, body)
            endpoint.unload()


@pytest.mark.parametrize("path", [path for path in TABLES if path.stem in OF_FILES], ids=lambda path: path.stem)
def test_files_in_folders_are_read_as_those_in_archives(path: Path, tmp_path: Path) -> None:
    """Otherwise a model is wrong on disk and right in its archive, or the other way round."""
    table = read(path)
    for name, case in table["cases"].items():
        ((_, members),) = archives(table, case).items()
        found = faults(write_files(tmp_path / name, members), **table.get("to", {}) | case.get("to", {}))
        said = sorted(fault.rule for fault in found if fault.rule in table.get("rules", ()))
        assert said == sorted(rule.partition(":")[0] for rule in case["says"]), (name, found)


@pytest.mark.parametrize("path", sorted(CASES.glob("onnx-*.yaml")), ids=lambda path: path.stem)
def test_files_in_archives_are_read_as_those_in_folders(path: Path, tmp_path: Path) -> None:
    """The same for the tables of models of test_cases.py."""
    table = read_models(path)
    for name, case in table["cases"].items():
        folder = tmp_path / name
        stage(example(table, case, "model"), folder, "model")
        files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        packed = write(tmp_path / f"{name}.tar.gz", files)
        found = faults(packed, **table.get("to", {}) | case.get("to", {}))
        assert [fault.rule for fault in found if fault.rule in table["rules"]] == case["says"], (name, found)
