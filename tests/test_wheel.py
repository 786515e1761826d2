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
    subprocess.run([any_python_or_skip(python).executable, "-m", "venv", tmp_path / "environment"], check=True)
    cli = tmp_path / "environment" / "bin" / "triton-ensembles"
    subprocess.run(
        [cli.with_name("pip"), "--disable-pip-version-check", "install", "--quiet", "--no-compile", wheel], check=True
    )
    pack(copy_of("branches", tmp_path), tmp_path / "branches.tar.gz", "fraud", "join", "net", "scale", "tree")
    for words, says in (
        (("--version",), "triton-ensembles, version "),
        (("check", "branches.tar.gz"), "1 note in 1 repository"),
        (("graph", "branches"), "flowchart LR"),
        (("clone", "branches.tar.gz", "--count", "2", "--prefix", "tenant"), ""),
        (("diff", "branches.tar.gz", "tenant_0001.tar.gz"), "tenant_0001"),
    ):
        done = run(cli, *words, folder=tmp_path)
        assert done.returncode == (words[0] == "diff"), done.stdout + done.stderr  # as of diff(1)
        assert says in done.stdout


def run(*command: str | Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, env=os.environ | environment, capture_output=True, text=True)


def test_the_core_is_small(installed: Path) -> None:
    packages = installed.parent / "lib" / "python{}.{}".format(*sys.version_info) / "site-packages"
    others = [path for path in packages.iterdir() if path.name not in ("google", "numpy", "numpy.libs")]
    assert sum(map(size_of, others)) < _LARGEST


def test_it_writes_a_project(installed: Path, tmp_path: Path) -> None:
    """Its templates are in the wheel, those of hidden files too."""
    cli = installed / "triton-ensembles"
    done = run(cli, "new", "moods", folder=tmp_path)
    assert done.stdout == "ensembles/moods is ready: triton-ensembles demo moods\n", done.stderr
    for path in (".github/workflows/ci.yml", ".gitignore", "pyproject.toml", "tests/test_moods.py"):
        assert (tmp_path / path).is_file()
    done = run(cli, "check", "--strict", folder=tmp_path)
    assert done.stdout.startswith("no faults in 1 repository"), done.stdout
    done = run(installed / "python", "-m", "triton_ensembles", "list", folder=tmp_path / "ensembles" / "moods")
    assert done.stdout.startswith("moods"), done.stderr


def test_it_says_which_line_installs_what_a_command_needs(installed: Path, tmp_path: Path) -> None:
    done = run(installed / "triton-ensembles", "endpoint", "--port", "0", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("which is not installed; run: pip install 'triton-ensembles[serve]'\n")


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
    done = run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", folder=project, **variables)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert re.search(r"^plugins: .*triton-ensembles-\d", done.stdout, re.MULTILINE)
