"""CONTRIBUTING.md shows the house as it is."""

import re
import tomllib

from checkout import ROOT

_PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_table_of_layers_names_every_room_on_its_floor() -> None:
    """Otherwise a newcomer puts a module where import-linter refuses it."""
    rows = re.findall(r"^\| (\d*) ?\| (`[^|]*) \|", _PAGE, re.MULTILINE)
    floors: list[set[str]] = []
    for number, rooms in rows:
        if number:
            floors.append(set())
        floors[-1] |= {room.rstrip("/") for room in re.findall(r"`([^`]*)`", rooms)}
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    assert floors == [set(re.split(r" [|:] ", layer)) for layer in contract["layers"]]


def test_every_file_that_it_names_exists() -> None:
    """Otherwise `where is what` leads nowhere."""
    named = set(re.findall(r"`([a-z_/]+/[a-z0-9_./-]+\.(?:py|csv))`", _PAGE))
    assert len(named) > 10
    package = ROOT / "triton_ensembles"
    assert sorted(path for path in named if not (package / path).exists() and not (ROOT / path).exists()) == []
