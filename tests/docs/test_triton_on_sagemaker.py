"""docs/triton-on-sagemaker.md names what exists."""

import re

from checkout import ROOT
from triton_ensembles.checking.registry import RULES_BY_ID
from triton_ensembles.triton.sagemaker_variables import variables

_PAGE = (ROOT / "docs" / "triton-on-sagemaker.md").read_text(encoding="utf-8")


def _section(title: str) -> str:
    return _PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_every_rule_about_a_field_exists() -> None:
    """Otherwise `check --explain` refuses what the page says."""
    named = re.findall(r"`([a-z]+(?:-[a-z]+)*-(?:…|[a-z]+))`", _section("config.pbtxt"))
    assert len(named) > 20
    unknown = [name for name in named if not any(re.fullmatch(name.replace("…", ".+"), rule) for rule in RULES_BY_ID)]
    assert unknown == []


def test_the_table_has_every_variable_with_its_first_release() -> None:
    """Otherwise somebody sets what the container does not read."""
    rows = re.findall(r"^\| (`.*`) \| (\d\d\.\d\d)\b", _section("Variables of the container"), re.MULTILINE)
    since = {f"SAGEMAKER_{name}": release for names, release in rows for name in re.findall(r"`([A-Z_]+)`", names)}
    assert since == {name: variable.since for name, variable in variables().items()}
