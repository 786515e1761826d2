"""The files that took longest begin first: several workers share the files (pytest -n N --dist loadfile), and none of
these is to be left to one worker at the end.

    python -m tests.order    # after make test-all: writes its times into seconds.json
"""

import json
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

TESTS = Path(__file__).parent
SECONDS = TESTS / "seconds.json"
LEAST = 30  # seconds; where shorter files run makes no difference


def sort(items: list[pytest.Item]) -> None:
    """Sort in place by the file's recorded seconds; those without any keep their order."""
    seconds = {TESTS / name: each for name, each in json.loads(SECONDS.read_text()).items()}
    items.sort(key=lambda item: -seconds.get(item.path, 0))


def record() -> None:
    """Add up what the reports of both halves say of each file."""
    seconds: Counter[str] = Counter()
    for report in ("test.xml", "test-rest.xml"):
        for case in ElementTree.parse(TESTS.parent / "reports" / report).iter("testcase"):
            name = case.attrib["classname"].removeprefix("tests.").replace(".", "/")
            seconds[f"{name}.py"] += round(float(case.attrib["time"]))
    longest = {name: each for name, each in seconds.most_common() if each >= LEAST}
    SECONDS.write_text(json.dumps(longest, indent=0) + "\n")


if __name__ == "__main__":
    record()
