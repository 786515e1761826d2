"""check, graph, clone and diff on a Python that has only what `pip install triton-ensembles` installs."""

import ast
import os
import re
import subprocess
import sys
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from tritonclient.grpc import model_config_pb2

from checkout import ENSEMBLES, ROOT
from tests.building.variants.test_equal import archive
from tests.core import PROJECT, SITECUSTOMIZE, distributions, modules_without
from triton_ensembles.ground.extras import MODULES
from triton_ensembles.triton.model_config_message import DESCRIPTOR

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a Python without any package that the core does not require."""
    folder = tmp_path_factory.mktemp("bare")
    missing = modules_without(distributions(PROJECT["dependencies"]))
    assert {"numpy", "torch", "boto3", "matplotlib", "tensorflow", "onnxruntime", "tritonclient"} <= {*missing}
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE % (missing,))
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (folder, ROOT)))}


def run(bare: dict[str, str], folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "triton_ensembles", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=bare, capture_output=True, text=True)


def test_the_core_needs_no_more_than_it_requires(bare: dict[str, str], tmp_path: Path) -> None:
    """Otherwise `check` in someone's CI ends in a traceback, or needs gigabytes."""
    packed = archive(tmp_path)
    bert = ENSEMBLES / "bert_trt"
    for arguments in (
        ("check", bert),
        ("check", packed, "--format", "json"),
        ("check", "--explain", "tensor-dims-missing"),
        ("graph", bert),
        ("clone", packed, "--count", "2", "--prefix", "copy"),
        ("--project", ROOT, "diff", "cpu", "fused", "bert_trt"),
        ("--project", ROOT, "list"),
        ("schema",),
    ):
        done = run(bare, tmp_path, *arguments)
        is_check = arguments[:2] == ("check", packed)  # of stand-ins for the environment and the weights
        assert done.returncode == is_check, done.stderr
    assert (tmp_path / "copy_0001.tar.gz").is_file()
    project = tmp_path / "project"
    project.mkdir()
    for arguments in (("new", "moods"), ("new", "taken", "--from", packed), ("check", "moods", "--strict")):
        done = run(bare, project, *arguments)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", ["upload", "serve x", "build", "lsp", f"graph {ENSEMBLES}/bert_trt -o picture.svg"])
def test_a_command_whose_packages_are_missing_says_how_to_install_them(
    bare: dict[str, str], tmp_path: Path, words: str
) -> None:
    done = run(bare, tmp_path, *words.split())
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert line.startswith(f"error: {words.split()[0]} needs the package ")
    assert "which is not installed; run: make setup" in line  # in a checkout; tests/test_wheel.py asks a wheel


def test_their_help_and_the_completion_of_shells_work_all_the_same(bare: dict[str, str], tmp_path: Path) -> None:
    done = run(bare, tmp_path, "upload", "--help")
    assert done.returncode == 0
    assert "Copy archives to S3." in done.stdout
    words = {"COMP_WORDS": "triton-ensembles upload --", "COMP_CWORD": "2"}
    done = run(bare | words | {"_TRITON_ENSEMBLES_COMPLETE": "bash_complete"}, tmp_path)
    assert done.returncode == 0
    assert "--help" in done.stdout


def test_every_package_that_is_imported_is_required_by_the_core_or_an_extra() -> None:
    """Otherwise an installed command ends in a traceback that no extra is named for."""
    owners = {module: {canonicalize_name(each) for each in names} for module, names in packages_distributions().items()}
    core, extras = distributions(PROJECT["dependencies"]), PROJECT["optional-dependencies"]
    brought = {module for modules in MODULES.values() for module in modules}
    for path in sorted((ROOT / "triton_ensembles").rglob("*.py")):
        if "templates" in path.parts:  # of new projects, whose requirements are their own
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            named = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            named += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            third = {module for name in named if (module := name.partition(".")[0]) in owners}
            if path.parent.name == "pytest_plugin":
                third.discard("pytest")  # which alone imports it
            unknown = {each for each in third if not owners[each] & core and each not in brought}
            assert not unknown, (path, unknown)
    for extra, modules in MODULES.items():
        installed = distributions(extras[extra])
        for module in modules:
            assert owners.get(module, installed) & installed, (extra, module)


@pytest.mark.parametrize("engine", ["openvino", "pytorch", "tensorflow", "dali"])
def test_the_extra_of_an_engine_is_enough_to_serve_its_models(engine: str) -> None:
    """Otherwise `pip install triton-ensembles[pytorch]` ends with an engine and no server."""
    extras = PROJECT["optional-dependencies"]
    assert distributions(extras["serve"]) < distributions(extras[engine])


def test_the_page_says_what_each_extra_weighs() -> None:
    """Otherwise someone on a small disk, or behind a slow line, is surprised by gigabytes."""
    page = (ROOT / "docs" / "getting-started.md").read_text()
    rows = re.findall(r"^\| (none|`\[\w+\]`) \|.*?\| (\d+) \|", page, re.MULTILINE)
    extras = {f"`[{name}]`": needed for name, needed in PROJECT["optional-dependencies"].items() if name != "gateway"}
    assert {extra for extra, _ in rows} == {"none", *extras}
    own = list((ROOT / "triton_ensembles").rglob("*.*"))
    for extra, size in rows:
        names = distributions([*PROJECT["dependencies"], *extras.get(extra, [])]) - {"pip"}
        if "torch" in names and not distribution("torch").version.endswith("+cpu"):
            continue  # that of PyPI, with CUDA
        files = [Path(str(file.locate())) for name in names for file in distribution(name).files or ()]
        weight = sum(path.stat().st_size for path in (*own, *files) if path.is_file()) / 1e6
        assert weight == pytest.approx(int(size), rel=0.15), extra


def test_the_messages_are_those_of_tritonclient() -> None:
    """To renew the file, write these bytes into it."""
    assert DESCRIPTOR.read_bytes() == model_config_pb2.DESCRIPTOR.serialized_pb
