"""The wheel: installed outside of this checkout, it checks, draws and serves what is not ours."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
import venv
from pathlib import Path

import pytest
import tritonclient.http as http

from checkout import TRITON_HOME
from tests.chain import NAME, write_chain
from tests.core import PROJECT, SITECUSTOMIZE, distributions, modules_without
from tests.repositories import pack
from tests.running import lines_until, running
from tests.starter.repositories import write_network
from tests.strangers.networks import copy_of
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.ground.files import size_of
from triton_ensembles.triton.interpreter import find_interpreter
from triton_ensembles.triton.ports import Ports

_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
_PYTEST = ("pytest", "pytest-xdist", "pytest-timeout", "anyio", "hypothesis")  # what registers with pytest here
_LARGEST = 60e6  # bytes of the core, without numpy and protobuf

CONFIG = """backend: "onnxruntime"
max_batch_size: 8
input [ { name: "X" data_type: TYPE_FP32 dims: [ 3 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 3 ] } ]
"""


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
    if not (interpreter := find_interpreter(python)):
        pytest.skip(f"there is no Python {python} with a shared library here")
    subprocess.run([interpreter.executable, "-m", "venv", tmp_path / "environment"], check=True)
    cli = tmp_path / "environment" / "bin" / "triton-ensembles"
    subprocess.run([cli.with_name("pip"), "--disable-pip-version-check", "install", "--quiet", wheel], check=True)
    pack(copy_of("branches", tmp_path), tmp_path / "branches.tar.gz", "fraud", "join", "net", "scale", "tree")
    for words, says in (
        (("check", "branches.tar.gz"), "1 note in 1 repository"),
        (("graph", "branches"), "flowchart LR"),
        (("clone", "branches.tar.gz", "--count", "2", "--prefix", "tenant"), ""),
        (("diff", "branches.tar.gz", "tenant_0001.tar.gz"), "tenant_0001"),
    ):
        done = run(cli, *words, folder=tmp_path)
        assert done.returncode == (words[0] == "diff"), done.stdout + done.stderr  # as of diff(1)
        assert says in done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Someone's model repository, with one fault: the model file is missing. Written on Windows."""
    model = tmp_path / "models" / "classifier"
    (model / "1").mkdir(parents=True)
    (model / "config.pbtxt").write_bytes(CONFIG.replace("\n", "\r\n").encode())
    return model.parent


def run(*command: str | Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, env=os.environ | environment, capture_output=True, text=True)


def test_the_core_is_small(installed: Path) -> None:
    packages = installed.parent / "lib" / "python{}.{}".format(*sys.version_info) / "site-packages"
    others = [path for path in packages.iterdir() if path.name not in ("google", "numpy", "numpy.libs")]
    assert sum(map(size_of, others)) < _LARGEST


def test_it_checks_and_draws_a_repository_that_is_not_ours(installed: Path, repository: Path, tmp_path: Path) -> None:
    cli = installed / "triton-ensembles"
    done = run(cli, "--version", folder=tmp_path)
    assert re.fullmatch(r"triton-ensembles, version \d+\.\d+\.\d+\n", done.stdout), done.stderr
    done = run(cli, "check", "models", folder=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "classifier" in done.stdout and "1 error" in done.stdout
    assert "config.pbtxt:" not in done.stdout  # its Windows line ends are no fault
    write_chain(tmp_path)
    done = run(installed / "python", "-m", "triton_ensembles", "graph", f"ensembles/{NAME}", folder=tmp_path)
    assert done.stdout.startswith("flowchart"), done.stderr
    done = run(cli, "list", folder=tmp_path / "ensembles" / NAME)
    assert done.stdout.startswith(NAME), done.stderr


def test_it_writes_a_project(installed: Path, tmp_path: Path) -> None:
    """Its templates are in the wheel, those of hidden files too."""
    cli = installed / "triton-ensembles"
    done = run(cli, "new", "moods", folder=tmp_path)
    assert done.stdout == "ensembles/moods is ready: triton-ensembles demo moods\n", done.stderr
    for path in (".github/workflows/ci.yml", ".gitignore", "pyproject.toml", "tests/test_moods.py"):
        assert (tmp_path / path).is_file()
    done = run(cli, "check", "--strict", folder=tmp_path)
    assert done.stdout.startswith("no faults in 1 repository"), done.stdout


def test_it_says_which_line_installs_what_a_command_needs(installed: Path, tmp_path: Path) -> None:
    done = run(installed / "triton-ensembles", "endpoint", "--port", "0", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("which is not installed; run: pip install 'triton-ensembles[serve]'\n")


@pytest.fixture(scope="module")
def serving(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a Python that imports the wheel, and of its own packages only those of the extra serve.

    tritonserver is that of this checkout, in a user's folder of its own.
    """
    folder = tmp_path_factory.mktemp("serving")
    subprocess.run([*_PIP, "install", "--no-deps", "--target", folder, wheel], check=True)
    extra = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["serve"], *_PYTEST]
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE % (modules_without(distributions(extra)),))
    home = tmp_path_factory.mktemp("home")
    for path in [*TRITON_HOME.glob("*/*"), *TRITON_HOME.glob("python-*")]:
        if not path.name.startswith("backends-") and not path.parent.name.startswith("python-"):
            link = home / path.relative_to(TRITON_HOME)
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(path)
    return os.environ | {"PYTHONPATH": os.fspath(folder), "TRITON_ENSEMBLES_HOME": os.fspath(home)}


def test_it_serves_a_project_that_is_not_ours(serving: dict[str, str], tmp_path: Path) -> None:
    write_chain(tmp_path)
    with Ports.reserved() as ports:
        options = [f"--{name}-port={getattr(ports, name)}" for name in ("http", "grpc", "metrics")]
        command = [sys.executable, "-m", "triton_ensembles", "serve", NAME, *options]
        with running(*command, cwd=tmp_path, env=serving, stderr=subprocess.STDOUT) as process:
            lines = lines_until(process.stdout, "Ctrl-C")
            with http.InferenceServerClient(f"127.0.0.1:{ports.http}") as client:
                assert client.is_model_ready(NAME), lines
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
    assert (tmp_path / "dist" / "cpu" / f"{NAME}.tar.gz").is_file()


def test_it_serves_onnx_and_names_the_extra_of_another_engine_before_it_starts(
    serving: dict[str, str], tmp_path: Path
) -> None:
    """Its config is one line, as AWS takes it."""
    write_network(tmp_path / "models" / "network" / "1" / "model.onnx")
    (tmp_path / "models" / "network" / "config.pbtxt").write_text('backend: "onnxruntime"')
    with Ports.reserved() as ports:
        options = [f"--{name}-port={getattr(ports, name)}" for name in ("http", "grpc", "metrics")]
        command = [sys.executable, "-m", "triton_ensembles", "serve", "models", *options]
        with running(*command, cwd=tmp_path, env=serving, stderr=subprocess.STDOUT) as process:
            lines = lines_until(process.stdout, "Ctrl-C")
            with http.InferenceServerClient(f"127.0.0.1:{ports.http}") as client:
                assert client.is_model_ready("network"), lines
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
    (tmp_path / "models" / "network" / "config.pbtxt").write_text(
        'backend: "openvino"\ndefault_model_filename: "model.onnx"'
    )
    done = run(sys.executable, "-m", "triton_ensembles", "serve", "models", folder=tmp_path, **serving)
    assert done.returncode == 1, done.stderr
    assert "model 'network' (openvino) needs the package openvino, which is not installed" in done.stderr
    assert done.stderr.endswith("run: pip install 'triton-ensembles[openvino]'\n")


def test_it_serves_the_api_of_sagemaker(
    serving: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PYTHONPATH", "TRITON_ENSEMBLES_HOME"):
        monkeypatch.setenv(name, serving[name])
    monkeypatch.setattr("triton_ensembles.endpoint.local.IMPORTED_FROM", tmp_path)  # not this checkout
    with LocalEndpoint(tmp_path / "root") as local:
        assert local.client("sagemaker").list_endpoints()["Endpoints"] == []
        with urllib.request.urlopen(local.url) as page:  # its templates are in the wheel
            assert b"</html>" in page.read()


def test_pytest_finds_the_plugin_of_the_wheel(serving: dict[str, str], tmp_path: Path) -> None:
    write_chain(tmp_path)
    (tmp_path / "test_ready.py").write_text(
        "import urllib.request\n\n\ndef test_ready(triton_server):\n"
        f"    server = triton_server('ensembles/{NAME}')\n"
        f"    assert urllib.request.urlopen(f'http://{{server.http_url}}/v2/models/{NAME}/ready').status == 200\n"
    )
    done = run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", folder=tmp_path, **serving)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert re.search(r"^plugins: .*triton-ensembles-\d", done.stdout, re.MULTILINE)
