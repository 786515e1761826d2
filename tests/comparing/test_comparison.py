"""What `diff` says of two repositories: nothing where nothing counts, and what a client notices of the rest."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.chain import build_fused_chain
from tests.configs import in_a_row, tensors
from tests.files import edit, write_files
from tests.onnx_files import write_network
from tests.repositories import pack, write_chain
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.building.variants.written import clone
from triton_ensembles.commands.cli import main

NET = 'platform: "onnxruntime_onnx"\nmax_batch_size: 8\n'
MORE = 'input { name: "N" data_type: TYPE_INT32 dims: [ 1 ] optional: true }\n'


def write(folder: Path, top: str = "top", prefix: str = "") -> Path:
    steps = in_a_row(f"{prefix}pre TEXT X", f"{prefix}net X Y", taken="TEXT")
    pre, whole = (f"max_batch_size: 8\n{tensors('TEXT:STRING:1', written)}" for written in ("X:FP32:4", "Y:FP32:2"))
    files = {
        f"{prefix}pre/1/model.py": "import json\n\n\nclass TritonPythonModel:\n    pass\n",
        f"{prefix}pre/config.pbtxt": f'backend: "python"\n{pre}{MORE}',
        f"{prefix}net/config.pbtxt": NET,
        f"{top}/config.pbtxt": steps + whole,
    }
    write_files(folder, files)
    (folder / top / "1").mkdir()
    write_network(folder / f"{prefix}net" / "1" / "model.onnx", 2)
    return folder


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["diff", *map(str, arguments)])


def compared(*arguments: object) -> dict[str, Any]:
    result = run(*arguments, "--format", "json")
    assert result.exit_code in (0, 1), result.output
    data = json.loads(result.stdout)
    assert result.exit_code == (0 if data["same"] else 1)
    (repository,) = data["repositories"]
    return dict(repository)


def changes(repository: dict[str, Any]) -> list[tuple[str, ...]]:
    return [(change["kind"], change["name"], change["before"], change["after"]) for change in repository["changes"]]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return write(tmp_path / "old")


@pytest.fixture
def new(tmp_path: Path, old: Path) -> Path:
    return Path(shutil.copytree(old, tmp_path / "new"))


def test_comments_order_and_defaults_do_not_count(old: Path, new: Path, tmp_path: Path) -> None:
    (new / "pre" / "config.pbtxt").write_text(
        "# written anew\nversion_policy { latest { num_versions: 1 } }\nname: 'pre'\n"
        "output { name: 'X' dims: 4 data_type: TYPE_FP32 }\n"
        "input { optional: true name: 'N' dims: [ 1 ] data_type: TYPE_INT32 }\n"
        "input { name: 'TEXT' dims: [ 1 ] data_type: TYPE_STRING }\nmax_batch_size: 8 backend: 'python'\n"
    )
    (new / "net" / "config.pbtxt").write_text('backend: "onnxruntime"\nmax_batch_size: 8\n')
    assert run(old, new).output == "no difference\n"
    assert compared(pack(old, tmp_path / "a.tar.gz"), new)["identical"] == 1


@pytest.mark.parametrize(
    ("file", "edit", "changed", "notices"),
    [
        ("top", ("dims: [ 2 ]", "dims: [ 3 ]"), ("config", "output.Y.dims", "[2]", "[3]"), "[3] instead of FP32 [2]"),
        ("top", ("TYPE_STRING", "TYPE_INT64"),
         ("config", "input.TEXT.data_type", "TYPE_STRING", "TYPE_INT64"), "TEXT is INT64 [1] instead of STRING [1]"),
        ("top", ("max_batch_size: 8", "max_batch_size: 4"), ("config", "max_batch_size", "8", "4"), "up to 4 rows"),
        ("top", ("max_batch_size: 8", ""), ("config", "max_batch_size", "8", ""), "no batch axis"),
        ("pre", ("max_batch_size: 8", "max_batch_size: 4"), ("config", "max_batch_size", "8", "4"), None),
        ("top", ("8\n", "8\nversion_policy { all { } }\n"), ("config", "version_policy.all", "", "{ }"), None),
        ("pre", ("8\n", "8\ndynamic_batching { max_queue_delay_microseconds: 5 }\n"),
         ("config", "dynamic_batching.max_queue_delay_microseconds", "", "5"), None),
    ],
)  # fmt: skip
def test_a_field_of_a_config(
    old: Path, new: Path, file: str, edit: tuple[str, str], changed: tuple[str, ...], notices: str | None
) -> None:
    config = new / file / "config.pbtxt"
    config.write_text(config.read_text().replace(*edit, 1))
    result = compared(old, new)
    assert changed in changes(result)
    assert not result["answers_may_differ"]
    assert result["client_notices"] == (notices is not None) and (notices or "") in " ".join(result["client"])


def test_weights_are_told_by_their_content(old: Path, new: Path) -> None:
    write_network(new / "net" / "1" / "model.onnx", 2, value=2.0)
    same_size = compared(old, new)
    ((kind, name, before, after),) = changes(same_size)
    assert (kind, name, before) == ("weights", "1/model.onnx", after)
    assert same_size["answers_may_differ"] and not same_size["client_notices"]


def test_precisions_differ_in_size_and_in_what_their_builds_have_measured(old: Path, new: Path) -> None:
    """Otherwise nobody knows what the smaller one costs."""

    def write_manifest(folder: Path, digest: str, **measured: object) -> None:
        records = {"net/1/model.onnx": {"sha256": digest, **measured}, "pre/1/x": "damaged"}
        (folder / "manifest.json").write_text(json.dumps({"ensemble": "top", "artifacts": records}))

    (new / "net" / "1" / "more.bin").write_bytes(bytes(3_000_000))
    write_manifest(old, "a", facts={"precision": "fp16", "gpu": "any", "mean_cosine_to_fp32": 0.9999})
    write_manifest(new, "b", accuracy={"precision": "int8", "least_cosine": 0.988})
    measured = "precision fp16, mean cosine to fp32 0.9999", "precision int8, least cosine 0.988"
    result = compared(old, new)
    assert ("accuracy", "net/1/model.onnx", *measured) in changes(result)
    assert result["sizes"][1] - result["sizes"][0] > 2_000_000
    printed = run(old, new).output
    assert " -> ".join(measured) in printed and "size 0.0 MB -> 3.0 MB" in printed
    write_manifest(new, "a", accuracy={"precision": "int8", "least_cosine": 0.987})
    assert "accuracy" not in [kind for kind, *_ in changes(compared(old, new))], "another processor rounds differently"


def test_a_completed_config_is_compared_as_triton_completes_it(tmp_path: Path) -> None:
    for name, width in (("old", 2), ("new", 3)):
        write_files(tmp_path / name, {"net/config.pbtxt": NET})
        write_network(tmp_path / name / "net" / "1" / "model.onnx", width)
    assert compared(tmp_path / "old", tmp_path / "new")["client"] == ["net: output Y is FP32 [3] instead of FP32 [2]"]


def test_code_is_a_unified_diff(old: Path, new: Path, tmp_path: Path) -> None:
    code = new / "pre" / "1" / "model.py"
    code.write_text(code.read_text().replace("import json", "import os"))
    for sides in ((old, new), (pack(old, tmp_path / "a.tar.gz"), pack(new, tmp_path / "b.tar.gz"))):
        result = run(*sides)
        assert result.exit_code == 1
        assert "-import json\n" in result.output and "+import os\n" in result.output
        assert "would not notice: the interface is the same; its answers may differ" in result.output


def test_the_names_that_a_clone_gives_count_once(old: Path, tmp_path: Path) -> None:
    clone = write(tmp_path / "clone", "tenant", "tenant.")
    first = write(tmp_path / "first", "bert", "bert.")
    assert changes(compared(first, clone)) == [("model", "name", "bert", "tenant")]
    assert compared(first, clone)["client"] == ["bert is now called tenant"]


@pytest.mark.slow
def test_a_fused_clone_has_the_packages_of_its_original(fused_chain: Built, tmp_path: Path) -> None:
    """They lie in the one model, which has another name."""
    (archive,) = clone(fused_chain.archive, ["tenant"], tmp_path)
    assert changes(compared(fused_chain.archive, archive)) == [("model", "name", "chain", "tenant")]


@pytest.mark.slow
def test_two_fused_archives_differ_in_what_was_written(fused_chain: Built, places: Places, tmp_path: Path) -> None:
    """Otherwise a line of a config is as many lines as the build has completed from it, in each step."""
    other = build_fused_chain(tmp_path, places.store, instances=2)
    (change,) = changes(compared(fused_chain.archive, other.archive))
    assert change == ("config", "instance_group.0.count", "1", "2")


def test_packages_beside_the_code_are_versions_and_not_files(old: Path, new: Path) -> None:
    for folder, version in ((old, "2.1"), (new, "2.2")):
        record, wheel = (f"pandas-{version}.dist-info/{name}" for name in ("RECORD", "WHEEL"))
        files = {record: "pandas/__init__.py,,\n", wheel: "Tag: py3-none-any\n"}
        write_files(folder / "pre" / "1", files | {"pandas/__init__.py": f"__version__ = '{version}'\n"})
    assert changes(compared(old, new)) == [("package", "pandas", "2.1", "2.2")]
    (new / "pre" / "1" / "pandas-2.2.dist-info").rename(new / "pre" / "1" / "pandas-2.1.dist-info")
    assert [change[:2] for change in changes(compared(old, new))] == [("package", "pre/1/pandas")]


def test_revisions_of_git(old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "git"
    shutil.copytree(old, project / "serving" / "models")
    monkeypatch.chdir(project)

    def git(*arguments: str) -> None:
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@y", *arguments]
        subprocess.run(command, check=True, capture_output=True)

    for arguments in (("init",), ("add", "."), ("commit", "-m", "one"), ("tag", "v1")):
        git(*arguments)
    assert run("v1", ".").output == "no difference\n"  # though git keeps no empty folder of a version
    code = Path("serving/models/pre/1/model.py")
    code.write_text(code.read_text() + "# more\n")
    git("commit", "-am", "two")
    monkeypatch.chdir("serving")
    for arguments in ("v1 models", "v1 HEAD", "HEAD~1 .", "v1 HEAD models", "v1 . models"):
        assert [change[:2] for change in changes(compared(*arguments.split()))] == [("code", "1/model.py")], arguments
    assert run("HEAD", ".", "models").exit_code == 0


@pytest.mark.parametrize("words", ["v9 .", "nowhere nothing", "-- -x .", "empty empty"])
def test_what_is_not_there_is_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    result = run(*words.split())
    assert result.exit_code == 2 and "Error: " in result.output


def test_a_damaged_archive_is_refused(old: Path, tmp_path: Path) -> None:
    whole = pack(old, tmp_path / "a.tar.gz")
    (tmp_path / "b.tar.gz").write_bytes(whole.read_bytes()[:-200])
    result = run(whole, tmp_path / "b.tar.gz")
    assert result.exit_code == 2 and "cannot be compared" in result.output


def test_a_side_that_check_refuses_is_named(tmp_path: Path) -> None:
    """Otherwise a client would not notice, and the server does not start."""
    for side in ("old", "new"):
        write_chain(tmp_path / side)
    edit(tmp_path / "new" / "double" / "config.pbtxt", "max_batch_size", "max_batchsize")
    result = run(tmp_path / "old", tmp_path / "new")
    assert "check refuses" in result.output and "/double/config.pbtxt:2:1: ModelConfig has no field" in result.output
