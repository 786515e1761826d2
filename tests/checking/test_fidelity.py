"""A small part of ``make fidelity``: no figure falls."""

import re

import pytest

from tests.checking.fidelity.__main__ import PAGE, measure
from tests.checking.fidelity.corpus import CLASSES

pytestmark = pytest.mark.slow

COUNT, SEED = 60, 1
BY_SERVER = ["backend-unknown"]  # a warning, as another server may have the backend
# Refusals that are not found as errors, alarms that the server refutes, and the share of right lines, at the worst.
WORST = {
    "fields of configs": (0, 0, 0.75),
    "texts of configs": (0, 0, 0.95),
    "lines of model.py": (2, 0, 0.65),  # a name that is read in a comprehension over what the request asks for
    "lines of linked files": (2, 0, 0.7),
    "symbolic links": (0, 0, 0.0),
    "random ensembles": (0, 0, 0.0),
}


@pytest.mark.parametrize("name", WORST)
def test_the_checker_is_right_as_often_as_before(name: str) -> None:
    """Otherwise the checker passes more of what Triton refuses, or refuses what Triton loads."""
    figures, odd = measure([name], COUNT, SEED)
    (found,) = figures.values()
    missed, alarms, placed = WORST[name]
    assert found.models == COUNT and found.refused > COUNT // 4
    not_found = [each for each in odd if each.kind in ("warnings", "silent") and each.rules != BY_SERVER]
    assert len(not_found) <= missed and found.alarms <= alarms, odd
    assert found.right_line >= placed * found.placed, found


def test_the_page_has_every_class_and_no_silent_refusal_of_an_example() -> None:
    """Otherwise a class is left out of the published figures, or a rule's own example passes."""
    rows = re.findall(r"^\| \d+ ([^|]*) \|(.*)\|$", PAGE.read_text(), re.MULTILINE)
    assert [name for name, _ in rows] == list(CLASSES)
    assert rows[0][1].split(" | ")[3].strip() == "0"
