"""Packages that people's steps import work in both forms: of docs/packages.md, those that differ in kind."""

from pathlib import Path

import pytest

from tests.packages.prove import FORMS, PACKAGES, Package, prove
from tests.pythons import python_or_skip

pytestmark = pytest.mark.slow


TEN = [package for package in PACKAGES if package.ci]


@pytest.mark.parametrize(
    ("package", "form"), list(zip(TEN, FORMS * 5, strict=True)), ids=[package.name for package in TEN]
)
def test_a_step_uses_it(package: Package, form: str, tmp_path: Path) -> None:
    python_or_skip("3.10")
    megabytes, _ = prove(package, form, "24.09", tmp_path)
    assert megabytes < 100
