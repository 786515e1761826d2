"""Settings in the text of a config.pbtxt and of an ensemble.toml, and candidates as such edited files."""

from pathlib import Path
from typing import Any

import pytest

from checkout import ENSEMBLES, ROOT
from tests.chain import NAME, write_chain
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.tuning.config_edit import FieldPath, Scalar, edit_config
from triton_ensembles.measuring.tuning.edits import Files
from triton_ensembles.measuring.tuning.knobs import Knobs
from triton_ensembles.measuring.tuning.recipe_edit import edit_recipe
from triton_ensembles.measuring.tuning.space import PRESENT, Candidate, Value
from triton_ensembles.triton.targets import CPU, fused

COUNT: FieldPath = ("instance_group", 0, "count")
DELAY: FieldPath = ("dynamic_batching", "max_queue_delay_microseconds")
ROWS: FieldPath = ("max_batch_size",)
PARAMETER: FieldPath = ("parameters", "t", "value", "string_value")

QUEUE = "max_queue_delay_microseconds"
STRING = 'parameters {\n  key: "t"\n  value {\n    string_value: "2"\n  }\n}\n'
# A config, the value for a field, and what of the text that replaces by what.
CONFIGS: list[tuple[str, FieldPath, Scalar, str, str]] = [
    ("max_batch_size: 8 # rows\n", ROWS, 16, "8", "16"),
    ('name: "a" # max_batch_size: 8\n', ROWS, 4, "8\n", "8\nmax_batch_size: 4\n"),
    ("dynamic_batching { }\n", DELAY, 100, "{ }", f"{{ {QUEUE}: 100 }}"),
    ("dynamic_batching { }\n", DELAY, 0, "", ""),  # what is so already is not written
    ("dynamic_batching {\n}\n", DELAY, 100, "\n}", f"\n  {QUEUE}: 100\n}}"),
    ("dynamic_batching {\r\n  # none\r\n}\r\n", DELAY, 9, "none", f"none\r\n  {QUEUE}: 9"),
    ("dynamic_batching: < preserve_ordering: true >", DELAY, 9, "true", f"true {QUEUE}: 9"),
    ('name: "a"', DELAY, 5, '"a"', f'"a"\ndynamic_batching {{\n  {QUEUE}: 5\n}}\n'),
    ("instance_group [ { count: 1 kind: KIND_CPU } ]", COUNT, 2, "1", "2"),
    ("instance_group { kind: KIND_CPU }", COUNT, 2, "CPU", "CPU count: 2"),
    ("instance_group [\n  {\n    kind: KIND_CPU\n  }\n]\n", COUNT, 3, "CPU", "CPU\n    count: 3"),
    ("", COUNT, 3, "", "instance_group [\n  {\n    count: 3\n  }\n]\n"),
    ('parameters [ { key: "t" value { string_value: "4" } } ]', PARAMETER, "2", "4", "2"),
    ('parameters { key: "t" value: { string_value: \'4\' "0" } }', PARAMETER, "2", "'4' \"0\"", '"2"'),
    ("name: 'a'\n", PARAMETER, "2", "'a'\n", f"'a'\n{STRING}"),
    ("# 'no\nversion_policy { specific { versions: [1, -1] } }\nmax_batch_size: 8", ROWS, 2, "8", "2"),
]


@pytest.mark.parametrize(("text", "field", "value", "old", "new"), CONFIGS, ids=[case[0][:40] for case in CONFIGS])
def test_only_the_value_in_a_config_changes(text: str, field: FieldPath, value: Scalar, old: str, new: str) -> None:
    """Otherwise --write rewrites a file that people wrote, or loses what it says."""
    assert edit_config(text, Path("config.pbtxt"), {field: value}) == text.replace(old, new)


INSTANCES = ("engines", "a", "instances")

RECIPES = [
    ("[engines.a]\ninstances = 1 # one\n", "[engines.a]\ninstances = 2 # one\n"),
    ("[engines.a]\r\nbackend='x'\r\n\r\n[b]\r\n", "[engines.a]\r\nbackend='x'\r\ninstances = 2\r\n\r\n[b]\r\n"),
    ("[engines.a]", "[engines.a]\ninstances = 2\n"),
    ("engines.a.backend = 'x'\n[b]\n", "engines.a.backend = 'x'\nengines.a.instances = 2\n[b]\n"),
    ("[engines]\na = { backend = 'x' }\n", "[engines]\na = { backend = 'x', instances = 2}\n"),
    ("engines = { }\n", "engines = { a = {instances = 2}}\n"),
    ("x = '''\n[engines.a]\ny = 1'''\n", "x = '''\n[engines.a]\ny = 1'''\n\n[engines.a]\ninstances = 2\n"),
    ("# nothing", "# nothing\n[engines.a]\ninstances = 2\n"),
    ("[engines.a]\nx = 1\n\n# of b\n[b]\n", "[engines.a]\nx = 1\ninstances = 2\n\n# of b\n[b]\n"),
    ("[engines.b]\nx = 1\n\n# of c\n[c]\n", "[engines.b]\nx = 1\n\n[engines.a]\ninstances = 2\n\n# of c\n[c]\n"),
]


@pytest.mark.parametrize(("text", "wanted"), RECIPES, ids=[case[0][:40] for case in RECIPES])
def test_only_the_value_in_a_recipe_changes(text: str, wanted: str) -> None:
    assert edit_recipe(text, Path("ensemble.toml"), {INSTANCES: 2}) == wanted


def test_keys_that_are_not_words_are_quoted() -> None:
    """Otherwise a step or a parameter with a dot in its name becomes two tables."""
    changes = {("parameters", "a.b", "x y"): "1", ("parameters", "a.b", "z"): "2"}
    edited = edit_recipe("", Path("ensemble.toml"), changes)
    assert edited == '[parameters."a.b"]\n"x y" = "1"\nz = "2"\n'


@pytest.mark.parametrize(
    ("edit", "text", "values", "words"),
    [
        (edit_config, "sequence_batching { oldest { } }", {DELAY: 5}, f"dynamic_batching.{QUEUE} cannot be set"),
        (edit_recipe, "engines = 1\n", {INSTANCES: 2}, "engines.a.instances cannot be set to 2 in this text; write"),
    ],
)
def test_what_cannot_be_edited_is_refused(edit: Any, text: str, values: dict[Any, Any], words: str) -> None:
    """Otherwise --write would break the recipe, or replace the scheduler of a model without a word."""
    with pytest.raises(EnsembleError, match=f"a.file: {words}"):
        edit(text, Path("a.file"), values)


def of_project(
    name: str, target: str = "cpu", p99_ms: float | None = None, lower_precision: bool = True
) -> tuple[Files, Knobs]:
    plan = plan_build(ENSEMBLES / name, CPU if target == "cpu" else fused(), ROOT)
    knobs = Knobs(plan, 4, p99_ms, lower_precision=lower_precision)
    return Files(plan, knobs.settings), knobs


def values_of(knobs: Knobs) -> dict[str, tuple[Value, ...]]:
    return {setting.name: setting.values for setting in knobs.settings}


def candidate(knobs: Knobs, changes: dict[str, Value]) -> Candidate:
    found = PRESENT
    for setting in knobs.settings:
        if setting.name in changes:
            found = found.having(setting, changes[setting.name])
    assert found.as_dict() == changes
    return found


def test_the_space_follows_from_the_ensemble() -> None:
    """Otherwise settings are tried that a step does not have, or that belong to another target."""
    _, knobs = of_project("bert_trt", p99_ms=4)
    values = values_of(knobs)
    assert values["bert-trt.engine"] == ("onnxruntime fp32", "openvino fp32", "openvino bf16", "openvino int8")
    assert values["bert-trt.instances"] == values["preprocess.instances"] == (1, 2, 3, 4)
    assert values["bert-trt.threads"] == (0, 1, 2, 3, 4)
    assert values["postprocess.queue_delay_us"] == (0, 100, 250, 500, 1000, 2000)  # half of the bound
    assert values["preprocess.max_batch_size"] == (64, 128)
    assert "bert-trt.max_batch_size" not in values  # the profiles of the plan
    assert "preprocess.engine" not in values and "preprocess.threads" not in values

    _, knobs = of_project("dali_inception")
    values = values_of(knobs)
    assert "dali.instances" not in values and any(note.startswith("dali: its instances") for note in knobs.notes)
    assert values["dali.threads"] == (1, 2, 3, 4)
    assert "tensorflow fp32" in values["inception_graphdef.engine"]

    _, knobs = of_project("bert_trt", lower_precision=False)  # there are no answers to compare
    assert values_of(knobs)["bert-trt.engine"] == ("onnxruntime fp32", "openvino fp32")

    _, knobs = of_project("bert_trt", "fused")
    assert [name.partition(".")[2] for name in values_of(knobs)] == ["engine", "instances", "threads", "queue_delay_us"]


@pytest.mark.parametrize(
    ("ensemble", "changes", "added"),  # lines, divided by |
    [
        (
            "bert_trt",
            {"bert-trt.engine": "openvino bf16", "bert-trt.instances": 1, "bert-trt.threads": 2},
            'backend = "openvino"|precision = "bf16"|instances = 1||[parameters.bert-trt]|INFERENCE_NUM_THREADS = "2"',
        ),
        ("bert_trt", {"bert-trt.threads": 1}, '|[parameters.bert-trt]|intra_op_thread_count = "1"'),
        ("bert_trt", {"preprocess.instances": 3}, "    count: 3"),
        ("dali_inception", {"dali.threads": 2}, '    string_value: "2"'),
        ("resnet_pytorch", {"resnet.INFERENCE_MODE": "false"}, '|[parameters.resnet]|INFERENCE_MODE = "false"'),
        ("resnet_pytorch", {"resnet.queue_delay_us": 500}, "  max_queue_delay_microseconds: 500"),
    ],
)
def test_each_setting_is_written_where_it_belongs(ensemble: str, changes: dict[str, Value], added: str) -> None:
    """Otherwise --write changes what has no effect, or more than was found."""
    files, knobs = of_project(ensemble)
    lines = files.diff(candidate(knobs, changes)).splitlines()
    assert {line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")} == {*added.split("|")}
    assert files.diff(PRESENT) == ""


def of_chain(project: Path) -> tuple[Files, Knobs]:
    plan = plan_build(project / "ensembles" / NAME, CPU, project)
    knobs = Knobs(plan, 2, None, lower_precision=False)
    return Files(plan, knobs.settings), knobs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_chain(tmp_path)
    return tmp_path / "ensembles" / NAME


def test_both_files_are_written_or_none_if_one_has_changed_meanwhile(folder: Path, tmp_path: Path) -> None:
    """Otherwise half of what was measured is deployed, or ten minutes of somebody's editing are lost."""
    first, second = (folder / step / "config.pbtxt" for step in ("first", "second"))
    second.chmod(0o640)
    files, knobs = of_chain(tmp_path)
    changed = candidate(knobs, {"first.instances": 2, "second.queue_delay_us": 100})
    before = first.read_text(), second.read_text()
    second.write_text(f"{before[1]}# new\n")
    with pytest.raises(EnsembleError, match="this file has changed since tune began; run tune once more"):
        files.write(changed)
    assert (first.read_text(), second.read_text()) == (before[0], f"{before[1]}# new\n")
    second.write_text(before[1])
    assert files.write(changed) == [first, second]
    assert first.read_text() == before[0].replace("count: 1", "count: 2")
    delayed = "dynamic_batching { max_queue_delay_microseconds: 100 }"
    assert second.read_text() == before[1].replace("dynamic_batching { }", delayed)
    assert second.stat().st_mode & 0o777 == 0o640


def test_a_step_without_instance_group_gets_one_and_one_with_several_keeps_them(folder: Path, tmp_path: Path) -> None:
    """Otherwise the instances of most Python steps are never tried, or one group gets a count measured for all."""
    config = folder / "first" / "config.pbtxt"
    written = config.read_text()
    config.write_text("".join(line for line in config.open() if "instance_group" not in line))
    files, knobs = of_chain(tmp_path)
    changed = candidate(knobs, {"first.instances": 2})
    assert "instance_group [\n  {\n    count: 2\n  }\n]\n" in files.edited(changed)[config]
    config.write_text(f"{written}instance_group [ {{ count: 1 kind: KIND_CPU }} ]\n")
    _, knobs = of_chain(tmp_path)
    assert "first.instances" not in values_of(knobs)
    assert any("it has 2 groups" in note for note in knobs.notes)
