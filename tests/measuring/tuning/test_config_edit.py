"""Settings in the text of a config.pbtxt."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkout import ENSEMBLES
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.tuning.config_edit import FieldPath, Scalar, edit_config
from triton_ensembles.triton.model_config import parse_config

COUNT: FieldPath = ("instance_group", 0, "count")
DELAY: FieldPath = ("dynamic_batching", "max_queue_delay_microseconds")
SIZES: FieldPath = ("dynamic_batching", "preferred_batch_size")
ROWS: FieldPath = ("max_batch_size",)
PARAMETER: FieldPath = ("parameters", "t", "value", "string_value")

QUEUE = "max_queue_delay_microseconds"
STRING = 'parameters {\n  key: "t"\n  value {\n    string_value: "2"\n  }\n}\n'
# A config, the value for a field, and what of the text that replaces by what.
CASES: list[tuple[str, FieldPath, Scalar, str, str]] = [
    ("max_batch_size: 8 # rows\n", ROWS, 16, "8", "16"),
    ("max_batch_size:8,name:'a'", ROWS, 16, "8", "16"),
    ('name: "a" # max_batch_size: 8\n', ROWS, 4, "8\n", "8\nmax_batch_size: 4\n"),
    ("dynamic_batching { }\n", DELAY, 100, "{ }", f"{{ {QUEUE}: 100 }}"),
    ("dynamic_batching {}", DELAY, 100, "{}", f"{{ {QUEUE}: 100 }}"),
    ("dynamic_batching {\n}\n", DELAY, 100, "\n}", f"\n  {QUEUE}: 100\n}}"),
    ("dynamic_batching {\r\n  # none\r\n}\r\n", DELAY, 9, "none", f"none\r\n  {QUEUE}: 9"),
    ("dynamic_batching: < preserve_ordering: true >", DELAY, 9, "true", f"true {QUEUE}: 9"),
    ('name: "a"', DELAY, 5, '"a"', f'"a"\ndynamic_batching {{\n  {QUEUE}: 5\n}}\n'),
    ("dynamic_batching { preferred_batch_size: [ 4, 8 ] }", SIZES, (16,), "4, 8", "16"),
    ("instance_group [ { count: 1 kind: KIND_CPU } ]", COUNT, 2, "1", "2"),
    ("instance_group { kind: KIND_CPU }", COUNT, 2, "CPU", "CPU count: 2"),
    ("instance_group [\n  {\n    kind: KIND_CPU\n  }\n]\n", COUNT, 3, "CPU", "CPU\n    count: 3"),
    ("", COUNT, 3, "", "instance_group [\n  {\n    count: 3\n  }\n]\n"),
    ('parameters [ { key: "t" value { string_value: "4" } } ]', PARAMETER, "2", "4", "2"),
    ('parameters { key: "t" value: { string_value: \'4\' "0" } }', PARAMETER, "2", "'4' \"0\"", '"2"'),
    ("name: 'a'\n", PARAMETER, "2", "'a'\n", f"'a'\n{STRING}"),
    ("# 'no\nversion_policy { specific { versions: [1, -1] } }\nmax_batch_size: 8", ROWS, 2, "8", "2"),
]


@pytest.mark.parametrize(("text", "field", "value", "old", "new"), CASES, ids=[case[0][:40] for case in CASES])
def test_only_the_value_changes(text: str, field: FieldPath, value: Scalar, old: str, new: str) -> None:
    """Otherwise --write rewrites a file that people wrote, or loses what it says."""
    assert edit_config(text, Path("config.pbtxt"), {field: value}) == text.replace(old, new)


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(ENSEMBLES.glob("*/*/config.pbtxt")) if path.parent.name != "ensemble"],
    ids=lambda path: path.parts[-2],
)
def test_every_step_of_the_project_can_be_edited(path: Path) -> None:
    """Otherwise a comment of somebody else disappears with the first `tune --write`."""
    text = path.read_bytes().decode()
    rows = parse_config(text, path).max_batch_size
    edited = edit_config(text, path, {ROWS: rows + 1, SIZES: (4,), DELAY: 77})
    config = parse_config(edited, path)
    assert (config.max_batch_size, config.dynamic_batching.max_queue_delay_microseconds) == (rows + 1, 77)
    kept = [line for line in edited.splitlines() if line in text.splitlines()]
    assert kept == [line for line in text.splitlines() if "max_batch_size" not in line]


def test_a_model_with_another_scheduler_is_refused() -> None:
    """Otherwise the new scheduler silently replaces that of the model."""
    text = "sequence_batching { oldest { } }"
    with pytest.raises(EnsembleError, match=rf"config.pbtxt: dynamic_batching.{QUEUE} cannot be set"):
        edit_config(text, Path("config.pbtxt"), {DELAY: 5})


def test_what_is_set_already_is_not_written() -> None:
    """Otherwise defaults that nobody wrote appear in the file."""
    text = "dynamic_batching { }\n"
    assert edit_config(text, Path("config.pbtxt"), {DELAY: 0}) == text
