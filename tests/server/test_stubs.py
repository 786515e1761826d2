"""Which Python runs a plain step: what a user's model.py can import here is what it can import in NVIDIA's image."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http

from checkout import TRITON_HOME
from tests.ensembles.clients import infer
from tests.hosting import archives
from tests.onnx_files import write_network
from tests.pythons import python_or_skip
from tests.running import serving
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.server.bare_python import bare_python
from triton_ensembles.server.home import TritonHome, find_home
from triton_ensembles.server.interpreter import running_interpreter
from triton_ensembles.server.stubs import prepare_stubs
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.pip_server import server_python

INITIALIZE = """
        import importlib, importlib.util, json, sys
        names = ("ctypes", "sqlite3", "numpy", "sklearn", "boto3", "click", "pip", "tokenizers", "triton_ensembles")
        found = [name for name in names if importlib.util.find_spec(name)]
        for name in found:
            importlib.import_module(name)
        facts = {"python": "%d.%d" % sys.version_info[:2], "numpy": np.__version__, "found": found}
        with open(os.path.join(os.path.dirname(__file__), "facts.json"), "w") as file:
            json.dump(facts, file)
"""


@pytest.mark.parametrize("python", ["", "3.8", "3.12"])
def test_a_plain_step_finds_numpy_and_nothing_else(python: str, tmp_path: Path) -> None:
    """Otherwise it works here by chance, with what the project has installed, and fails in NVIDIA's image."""
    minor = python_or_skip(python).minor if python else server_python()
    models = archives.written(archives.model("step", INITIALIZE, "assert x.sum() == 7"), tmp_path)
    with (
        serving(TritonServer([models], python=python)) as server,
        http.InferenceServerClient(server.http_url) as client,
    ):
        assert infer(client, "step", {"X": np.array([1, 2, 4], np.float32)})["Y"].tolist() == [1, 2, 4]
    facts = json.loads((tmp_path / "step" / "1" / "facts.json").read_text())
    numpy = "1.24.4" if minor == "3.8" else "1.26.4"
    assert facts == {"python": minor, "numpy": numpy, "found": ["ctypes", "sqlite3", "numpy"]}


def test_a_server_writes_nothing_into_a_repository(tmp_path: Path) -> None:
    """People serve the folders that they work in: new files there are noise in git, and reload models."""
    models = archives.written(archives.model("step", execute="import helper") | {"step/1/helper.py": b""}, tmp_path)
    before = sorted(models.rglob("*"))
    with serving(TritonServer([models])) as server, http.InferenceServerClient(server.http_url) as client:
        infer(client, "step", {"X": np.zeros(1, np.float32)})
    assert sorted(models.rglob("*")) == before


def test_engines_run_under_the_tools_python_beside_steps_of_another(tmp_path: Path) -> None:
    """Otherwise no archive with a model file is served behind the name of an image whose Python is not the tool's."""
    other = python_or_skip("3.10" if server_python() != "3.10" else "3.12").minor
    step = archives.model("step", execute="import sys; x = np.array(sys.version_info[:2], np.float32)")
    repository = archives.written(step, tmp_path)
    write_network(repository / "network" / "1" / "model.onnx")
    (repository / "network" / "config.pbtxt").write_text('backend: "onnxruntime"\nmax_batch_size: 8\n')
    with (
        serving(TritonServer([repository], python=other)) as server,
        http.InferenceServerClient(server.http_url) as client,
    ):
        version = infer(client, "step", {"X": np.zeros(2, np.float32)})["Y"]
        assert ".".join(f"{number:.0f}" for number in version) == other
        assert infer(client, "network", {"X": np.array([[1, 2, 4, 8]], np.float32)})["Y"].tolist() == [[1, 2, 4]]


@pytest.mark.parametrize(
    ("python", "words"),
    [
        ("3.7", "Triton 2.51.0 has no stub for Python 3.7; use one of 3.10, "),
        ("3.13", "has no wheel for Python 3.13; use Python 3.12 or an older one"),
    ],
)
def test_a_python_that_the_server_cannot_have_is_named(python: str, words: str, tmp_path: Path) -> None:
    if python == "3.13":
        python_or_skip(python)
    with pytest.raises(EnsembleError, match=words):
        TritonServer([tmp_path], python=python).start()


@pytest.mark.parametrize(
    ("python", "way"), [("3.10", "setup --image 24.10 (with uv), or PYTHON_"), ("3.9", "install it: PYTHON_")]
)
def test_a_python_that_is_not_installed_is_named_with_the_line_that_gets_it(
    python: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("triton_ensembles.server.stubs.find_interpreter", lambda minor: None)
    with pytest.raises(EnsembleError) as error:
        TritonServer([tmp_path], python=python).start()
    assert f"there is no Python {python} with a shared library" in error.value.message
    assert way in error.value.cure and error.value.cure.endswith(f"pyenv install {python}")
    assert ("with uv" in error.value.cure) == (python == "3.10")  # no image of Triton's has 3.9


@pytest.mark.slow
def test_a_bare_python_of_another_is_made_again(tmp_path: Path) -> None:
    prepare_stubs(find_home())
    bare = tmp_path / f"python-{server_python()}"
    shutil.copytree(TRITON_HOME / bare.name, bare, symlinks=True)
    said: list[str] = []
    bare_python(running_interpreter(), tmp_path, said.append)
    assert not said
    (bare / "pyvenv.cfg").write_text("home = /nowhere\n")
    for _ in range(2):
        bare_python(running_interpreter(), tmp_path, said.append)
        assert len(said) == 1
    code = "import numpy, sys; assert numpy.__file__.startswith(sys.prefix), numpy.__file__; numpy.ones(3).sum()"
    subprocess.run([bare / "bin" / "python3", "-I", "-c", code], check=True)


def test_a_failed_download_is_one_line_with_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    failure = r"numpy for the bare Python .* could not be downloaded: ERROR: .*; connect"
    with pytest.raises(EnsembleError, match=failure) as caught:
        bare_python(running_interpreter(), tmp_path, lambda _: None)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_a_home_that_cannot_be_written_names_the_variable(tmp_path: Path) -> None:
    """Otherwise a user of somebody else's home reads of a file that he does not know."""
    home = TritonHome(tmp_path / "2.51.0")
    home.folder.mkdir()
    for path in TRITON_HOME.glob("2.51.0/pytriton"):
        (home.folder / path.name).symlink_to(path)
    made = prepare_stubs(home)[0]
    shutil.rmtree(made)
    made.write_bytes(b"")  # as good as read-only, also for root
    with pytest.raises(EnsembleError, match="TRITON_ENSEMBLES_HOME"):
        prepare_stubs(home)
