"""What the pages name exists, and they lead to it."""

import re
import tomllib
from pathlib import Path

import pytest

from checkout import ROOT
from tests.docs.blocks import PAGES
from triton_ensembles.triton.sagemaker_variables import variables

_CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Otherwise a reader of the repository ends at a 404."""
    for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_every_page_of_docs_is_in_the_table_of_contents() -> None:
    """Otherwise nobody finds it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.parent.name == "docs" and f"docs/{page.name}" not in readme] == []


def test_the_table_of_layers_names_every_room_on_its_floor() -> None:
    """Otherwise a newcomer puts a module where import-linter refuses it."""
    rows = re.findall(r"^\| (\d*) ?\| (`[^|]*) \|", _CONTRIBUTING, re.MULTILINE)
    floors: list[set[str]] = []
    for number, rooms in rows:
        if number:
            floors.append(set())
        floors[-1] |= {room.rstrip("/") for room in re.findall(r"`([^`]*)`", rooms)}
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    assert floors == [set(re.split(r" [|:] ", layer)) for layer in contract["layers"]]


def test_every_file_that_contributing_names_exists() -> None:
    """Otherwise `where is what` leads nowhere."""
    named = set(re.findall(r"`([a-z_/]+/[a-z0-9_./-]+\.(?:py|csv))`", _CONTRIBUTING))
    assert len(named) > 10
    package = ROOT / "triton_ensembles"
    assert sorted(path for path in named if not (package / path).exists() and not (ROOT / path).exists()) == []


def test_the_table_has_every_variable_with_its_first_release() -> None:
    """Otherwise somebody sets what the container does not read."""
    page = (ROOT / "docs" / "triton-on-sagemaker.md").read_text(encoding="utf-8")
    section = page.partition("## Variables of the container\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*`) \| (\d\d\.\d\d)\b", section, re.MULTILINE)
    since = {f"SAGEMAKER_{name}": release for names, release in rows for name in re.findall(r"`([A-Z_]+)`", names)}
    assert since == {name: variable.since for name, variable in variables().items()}
