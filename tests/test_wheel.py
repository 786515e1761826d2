"""The wheel: installed outside of this checkout, it checks and draws what is not ours, and has its plugin of pytest."""

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from checkout import TRITON_HOME
from tests.chain import NAME, write_chain
from tests.core import PROJECT, SITECUSTOMIZE, distributions, modules_without
from tests.pythons import any_python_or_skip
from tests.repositories import pack
from tests.running import outcome
from tests.strangers.networks import copy_of
from triton_ensembles.ground.files import size_of

pytestmark = pytest.mark.slow

_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
_PYTEST = ("pytest", "pytest-xdist", "pytest-timeout", "anyio", "hypothesis")  # what registers with pytest here
_LARGEST = 60e6  # bytes of the core, without numpy and protobuf


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder bin/ of an empty environment into which `pip install` has put the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    subprocess.run([*_PIP, "--python", folder / "bin" / "python", "install", wheel], check=True)
    return folder / "bin"


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_the_core_works_on_every_python_that_is_here(wheel: Path, tmp_path: Path, python: str) -> None:
    """Otherwise `check` in someone's CI needs a Python of its own."""
    command = [any_python_or_skip(python).executable, "-m", "venv", "--without-pip", tmp_path / "environment"]
    subprocess.run(command, check=True)
    cli = tmp_path / "environment" / "bin" / "triton-ensembles"
    subprocess.run([*_PIP, "--python", cli.with_name("python"), "install", "--no-compile", wheel], check=True)
    pack(copy_of("branches", tmp_path), tmp_path / "branches.tar.gz", "fraud", "join", "net", "scale", "tree")
    for words, says in (
        (("--version",), "triton-ensembles, version "),
        (("check", "branches.tar.gz"), "1 note in 1 repository"),
        (("check", "branches.tar.gz", "--format", "json"), '"errors": 0'),
        (("check", "--explain", "tensor-dims-missing"), "tensor-dims-missing (error)"),
        (("graph", "branches"), "flowchart LR"),
        (("schema",), "json-schema.org"),
        (("clone", "branches.tar.gz", "--count", "2", "--prefix", "tenant"), ""),
        (("diff", "branches.tar.gz", "tenant_0001.tar.gz"), "tenant_0001"),
    ):
        done = outcome(cli, *words, cwd=tmp_path)
        assert done.returncode == (words[0] == "diff"), done.stdout + done.stderr  # as of diff(1)
        assert says in done.stdout


def test_the_core_is_small(installed: Path) -> None:
    packages = installed.parent / "lib" / "python{}.{}".format(*sys.version_info) / "site-packages"
    others = [path for path in packages.iterdir() if path.name not in ("google", "numpy", "numpy.libs")]
    assert sum(map(size_of, others)) < _LARGEST


def test_it_writes_a_project(installed: Path, tmp_path: Path) -> None:
    """Its templates are in the wheel, those of hidden files too."""
    cli = installed / "triton-ensembles"
    done = outcome(cli, "new", "moods", cwd=tmp_path)
    assert done.stdout == "ensembles/moods is ready: triton-ensembles demo moods\n", done.stderr
    for path in (".github/workflows/ci.yml", ".gitignore", "pyproject.toml", "tests/test_moods.py"):
        assert (tmp_path / path).is_file()
    done = outcome(cli, "check", "--strict", cwd=tmp_path)
    assert done.stdout.startswith("no faults in 1 repository"), done.stdout
    done = outcome(installed / "python", "-m", "triton_ensembles", "list", cwd=tmp_path / "ensembles" / "moods")
    assert done.stdout.startswith("moods"), done.stderr
    assert outcome(cli, "diff", "cpu", "fused", "moods", cwd=tmp_path).returncode == 0
    imported = outcome(cli, "new", "taken", "--from", copy_of("branches", tmp_path / "theirs"), cwd=tmp_path)
    assert imported.returncode == 0, imported.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        *(("upload", "aws"), ("serve x", "serve"), ("endpoint --port 0", "serve"), ("build", "build"), ("lsp", "lsp")),
        ("graph branches -o picture.svg", "serve"),
    ],
)
def test_it_says_which_line_installs_what_a_command_needs(
    installed: Path, tmp_path: Path, words: str, extra: str
) -> None:
    copy_of("branches", tmp_path)
    done = outcome(installed / "triton-ensembles", *words.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {words.split()[0]} needs the package ")
    assert done.stderr.endswith(f"which is not installed; run: pip install 'triton-ensembles[{extra}]'\n")


def test_their_help_and_the_completion_of_shells_work_all_the_same(installed: Path, tmp_path: Path) -> None:
    cli = installed / "triton-ensembles"
    assert "Copy archives to S3." in outcome(cli, "upload", "--help", cwd=tmp_path).stdout
    words = {"COMP_WORDS": "triton-ensembles upload --", "COMP_CWORD": "2"}
    done = outcome(cli, cwd=tmp_path, _TRITON_ENSEMBLES_COMPLETE="bash_complete", **words)
    assert done.returncode == 0 and "--help" in done.stdout


def test_pytest_finds_the_plugin_of_the_wheel(wheel: Path, tmp_path: Path) -> None:
    """It builds an ensemble and serves it. Of the packages here, its Python imports only those of the extra serve and
    those of pytest; tritonserver is that of this checkout, in a user's folder of its own."""
    imported, home = tmp_path / "imported", tmp_path / "home"
    subprocess.run([*_PIP, "install", "--no-deps", "--target", imported, wheel], check=True)
    extra = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["serve"], *_PYTEST]
    (imported / "sitecustomize.py").write_text(SITECUSTOMIZE % (modules_without(distributions(extra)),))
    for path in [*TRITON_HOME.glob("*/*"), *TRITON_HOME.glob("python-*")]:
        if not path.name.startswith("backends-") and not path.parent.name.startswith("python-"):
            link = home / path.relative_to(TRITON_HOME)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
    project = tmp_path / "project"
    write_chain(project)
    (project / "test_ready.py").write_text(
        "import urllib.request\n\n\ndef test_ready(triton_server):\n"
        f"    server = triton_server('ensembles/{NAME}')\n"
        f"    assert urllib.request.urlopen(f'http://{{server.http_url}}/v2/models/{NAME}/ready').status == 200\n"
    )
    variables = {"PYTHONPATH": os.fspath(imported), "TRITON_ENSEMBLES_HOME": os.fspath(home)}
    done = outcome(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", cwd=project, **variables)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert re.search(r"^plugins: .*triton-ensembles-\d", done.stdout, re.MULTILINE)
