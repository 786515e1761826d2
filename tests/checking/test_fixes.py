"""``check --fix``: what it changes, what it leaves, and that the server then loads the model."""

from pathlib import Path

import pytest

from tests.checking.reports import run
from tests.checking.served import server_results
from tests.repositories import write_chain
from triton_ensembles.checking.examples import HEAD, ensemble, io_tensor, python_model, step
from triton_ensembles.checking.fixes import Fixes
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage

MODEL = python_model("instance_group [ { count: 1, kind: KIND_CPU } ]")
USER = ensemble(step("scale", {"X": "X"}, {"Y": "T"}), step("join", {"A": "T", "B": "X"}, {"SUM": "Y"}))
GROUP = "instance_group [\n      # one is enough\n      { count: 1 }\n    ]"
# what is right, and what somebody wrote for a part of it
FIXED = [
    (MODEL, [("max_batch_size", "max_batchsize")]),
    (MODEL, [("max_batch_size: 8", 'max_batch_size: "8"  # many')]),
    (MODEL, [("TYPE_FP32", "float32"), ("KIND_CPU", "CPU")]),
    (MODEL, [('backend: "python"', 'backend: "Python"')]),
    (MODEL, [('backend: "python"', 'platform: "python"')]),
    (MODEL, [("instance_group", "instance-group"), ("[ 4 ]", "[ 4, ]")]),
    (MODEL, [(": ", "= ")]),
    (USER, [('platform: "ensemble"', 'platform: "ensembel"')]),
    (USER, [('platform: "ensemble"', 'backend: "ensemble"')]),
    (USER, [('model_name: "scale"', 'model_name: "scales"'), ('key: "A"', 'key: "a"')]),
    (USER, [('key: "A", value: "T"', 'key: "A", value: "t"')]),
    (USER, [('key: "A", value: "T"', 'key: "T", value: "A"')]),
    (USER, [('input_map { key: "X"', 'MAP { key: "X"'), ('output_map { key: "Y"', 'input_map { key: "Y"'),
            ("MAP", "output_map")]),
]  # fmt: skip


def staged(root: Path, text: str, script: str = "") -> Path:
    files = {"1/model.py": script} if script else None
    stage(Example(text, files), root, "model")
    return root / "model/config.pbtxt"


def written(right: str, edits: list[tuple[str, str]]) -> str:
    for old, new in edits:
        assert old in right, old
        right = right.replace(old, new)
    return right


@pytest.mark.verdicts
def test_the_server_loads_what_was_fixed(tmp_path: Path) -> None:
    """Otherwise a fix turns one fault into another."""
    examples = {}
    for number, (right, edits) in enumerate(FIXED):
        root = tmp_path / str(number)
        path = staged(root, right)  # with its steps
        path.write_text(wrong := written(right, edits))
        assert run("--fix", "--write", root).exit_code == 0, wrong
        comment = "  # many" if "# many" in wrong else ""
        assert path.read_text().replace(comment, "") == right
        examples |= {f"wrong-{number}": Example(wrong), f"fixed-{number}": Example(path.read_text())}
    results = server_results(examples, tmp_path)
    assert {name: result.loaded for name, result in results.items()} == {name: name[0] == "f" for name in examples}


@pytest.mark.parametrize(
    "text",
    [
        MODEL.replace("TYPE_FP32", "TYPE_INT"),  # of how many bits?
        MODEL + MODEL,
        MODEL.replace("dims: [ 4 ]", "dims: [ 4 "),
        USER.replace('key: "A"', 'key: "AB"'),  # the inputs are A and B
        USER.replace('"join"', '"jone"'),
        python_model(inputs=io_tensor("X", more=GROUP)).replace("count: 1", "count: 1, counts: 2"),
    ],
)
def test_what_is_not_certain_is_left(text: str, tmp_path: Path) -> None:
    """Otherwise the tool guesses, and writes its guess into somebody's file."""
    path = staged(tmp_path, text)
    result = run("--fix", "--write", tmp_path)
    assert path.read_text() == text and result.exit_code == 1, result.output


def test_two_fixes_to_one_name_are_not_both_made(tmp_path: Path) -> None:
    """Otherwise a map loses an entry, and Triton says nothing."""
    path = staged(tmp_path, USER.replace('key: "A"', 'key: "a"').replace('key: "B"', 'key: "A "'))
    run("--fix", "--write", tmp_path)
    assert path.read_text() == USER.replace('key: "B"', 'key: "A "')


def test_nothing_is_written_without_write(tmp_path: Path) -> None:
    """Otherwise people cannot look at the change before it is made."""
    path = staged(tmp_path, text := written(*FIXED[0]))
    result = run("--fix", tmp_path)
    assert path.read_text() == text and result.exit_code == 1
    assert "\n-max_batchsize: 8\n+max_batch_size: 8\n" in result.output and "--write fixes 1 fault" in result.output


def test_line_ends_marks_and_rights_of_a_file_stay(tmp_path: Path) -> None:
    """Otherwise a fix of one word is a diff of the whole file."""
    script = f'\ufeff{HEAD}class TritonPythonModel:\n    def execute(self, requests):\n        é = "ü"\n' + (
        '        xs = [pb_utils.get_input_tensor_by_name(r, "x").as_numpy() for r in requests]  # é\n'
        '        return [pb_utils.InferenceRespone([pb_utils.Tensor("Y", x)]) for x in xs]\n'
    )
    path = staged(tmp_path, written(*FIXED[0]).replace("\n", "\r\n"), script.replace("\n", "\r\n"))
    path.chmod(0o640)
    assert run("--fix", "--write", tmp_path).exit_code == 0
    assert path.read_bytes() == MODEL.replace("\n", "\r\n").encode() and path.stat().st_mode & 0o777 == 0o640
    right = script.replace('"x"', '"X"').replace("InferenceRespone", "InferenceResponse").replace("\n", "\r\n")
    assert (path.parent / "1/model.py").read_bytes() == right.encode()


@pytest.mark.parametrize("case", ["read-only", "link", "changed"])
def test_a_file_that_may_not_be_written_stays(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise one file of several is written, or one that is none of the repository's."""
    root = tmp_path / "models"
    path, text = staged(root, written(*FIXED[0])), written(*FIXED[0])
    stage(Example(text), root, "another")
    if case == "read-only":
        path.chmod(0o444)
    elif case == "link":
        path.rename(tmp_path / "outside.pbtxt")
        path.symlink_to(tmp_path / "outside.pbtxt")
    else:
        monkeypatch.setattr(Fixes, "diff", property(lambda _: str(path.write_text(f"{text}# new\n"))))
    result = run("--fix", "--write", root)
    assert result.exit_code == 2 and "nothing was written" in result.output, result.output
    assert (root / "another/config.pbtxt").read_text() == text and path.read_text().startswith(text)


def test_the_version_folder_that_git_drops_is_made(tmp_path: Path) -> None:
    """The commonest fault of a clone: an ensemble's is empty."""
    models = write_chain(tmp_path / "models")
    (models / "six" / "1").rmdir()
    shown = run("--fix", models)
    assert "six/1/.gitkeep" in shown.output and not (models / "six" / "1").exists()
    assert "no faults" in run("--fix", "--write", models).output
    assert (models / "six" / "1" / ".gitkeep").is_file()
    (models / "double" / "1").rename(models / "double" / "one")
    assert "1/.gitkeep" not in run("--fix", models).output  # an empty folder is no cure for a step
