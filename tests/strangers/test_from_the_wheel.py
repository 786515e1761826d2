"""Five repositories as strangers have them, with nothing but the wheel: checked, run, served, fused, asked with boto3.

What was seen at the first try in each of them is what people see who try their own.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from checkout import ROOT
from tests.pythons import python_or_skip
from tests.repositories import pack
from tests.running import lines_until, port_options, running, served_by
from tests.strangers.examples import ANSWERS, REQUESTS
from tests.strangers.networks import copy_of
from tests.strangers.transcript import replay
from triton_ensembles.deploy.rehearsal import ENDPOINT, Containers, create_endpoint
from triton_ensembles.endpoint.running import RunningEndpoint
from triton_ensembles.server.interpreter import find_interpreter
from triton_ensembles.server.ports import Ports
from triton_ensembles.triton.targets import cpu

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "getting-started.md"
NUMPY_ALONE = {"sentiment": "sentiment", "branches": "fraud", "bls": "router"}  # the model that is asked
WITH_PACKAGES = {"photos": "photo_classifier", "churn": "churn"}  # that their requirements.txt declares
SERVABLE = NUMPY_ALONE | WITH_PACKAGES
FUSED = {"24.09": ("photos", "bls", "churn"), "26.05": ("sentiment",)}
CHECKED = {"branches": "note[ensemble-branch]: tree (step 2) and net (step 3) run beside each other"}


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a shell in which `pip install 'WHEEL[serve]'` and `triton-ensembles setup` have been run."""
    folder = tmp_path_factory.mktemp("installed")
    interpreter = find_interpreter("3.12")  # the recommended one
    python = interpreter.executable if interpreter else Path(sys.executable)
    subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
    pip = [folder / "venv" / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    # Byte code of all modules would take a third of the time, and few of them are imported here.
    subprocess.run([*pip, "install", "--no-compile", f"{wheel}[serve]"], check=True)
    shell = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTEST", "PYTHON"))}
    shell["PATH"] = f"{folder}/venv/bin:{shell['PATH']}"
    shell["TRITON_ENSEMBLES_HOME"] = f"{folder}/home"
    said = subprocess.run(
        [folder / "venv" / "bin" / "triton-ensembles", "setup"], env=shell, capture_output=True, text=True, check=True
    )
    assert "engines  onnxruntime" in said.stderr
    return shell


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The five repositories, the request for each, and archives of three as tar makes them."""
    folder = tmp_path_factory.mktemp("work")
    for name, tensors in REQUESTS.items():
        copy_of(name, folder)
        (folder / f"{name}.json").write_text(json.dumps({"inputs": tensors}))
    for name in NUMPY_ALONE:
        pack(folder / name, folder / f"{name}.tar.gz", *(path.name for path in sorted((folder / name).iterdir())))
    return folder


def run(installed: dict[str, str], folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["triton-ensembles", *words]
    return subprocess.run(command, cwd=folder, env=installed, capture_output=True, text=True)


@pytest.mark.parametrize("name", REQUESTS)
def test_check_says_what_there_is_to_say(installed: dict[str, str], folder: Path, name: str) -> None:
    done = run(installed, folder, "check", name)
    assert CHECKED.get(name, "no faults in 1 repository") in done.stdout and done.returncode == 0, done.stdout
    assert ("packages: those of " in done.stderr) == (name in WITH_PACKAGES), done.stderr


# churn fails for a plan that nobody has, and sentiment is the repository of the page, which runs it
@pytest.mark.parametrize("name", ["branches", "bls", "photos"])
def test_check_runs_each_model(installed: dict[str, str], folder: Path, name: str) -> None:
    done = run(installed, folder, "check", name, "--run")
    assert done.returncode == 0, done.stdout
    models = {path.parent.name for path in (folder / name).rglob("config.pbtxt")}
    assert {f"asking {model}" for model in models} <= {*done.stderr.splitlines()}


def test_the_server_answers_what_their_code_means(installed: dict[str, str], folder: Path) -> None:
    """Files of theirs stay as they are, and no others appear."""
    before = sorted(folder.rglob("*"))
    with served_by("triton-ensembles", "serve", *SERVABLE, cwd=folder, env=installed) as address:
        for name, model in SERVABLE.items():
            url = f"http://{address}/v2/models/{model}/infer"
            with urllib.request.urlopen(url, (folder / f"{name}.json").read_bytes()) as reply:
                compare(name, {output["name"]: output["data"] for output in json.load(reply)["outputs"]})
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("release", FUSED)
def test_boto3_gets_the_same_from_fused_archives_and_from_those_of_tar(
    installed: dict[str, str], folder: Path, release: str
) -> None:
    """The router cannot call from an archive as drawn; a fused one answers as plain Triton does."""
    python_or_skip(cpu(release).python)
    refused = run(installed, folder, "check", "bls.tar.gz")
    assert "error[sagemaker-no-ensemble]" in refused.stdout and refused.returncode == 1
    assert "fix: build the fused form, in which models call each other" in refused.stdout
    built = run(installed, folder, "build", *FUSED[release], "--target", "fused", "--image", release)
    assert built.returncode == 0, built.stderr
    assert release != "24.09" or "photos/requirements.txt: " in built.stderr
    archives = {name: folder / "dist" / "fused" / release / f"{name}.tar.gz" for name in FUSED[release]}
    archives |= {"branches": folder / "branches.tar.gz"} if release == "24.09" else {}
    if drawn := [name for name in WITH_PACKAGES if name not in archives]:
        built = run(installed, folder, "build", *drawn, "--image", release)
        assert built.returncode == 0, built.stderr
        archives |= {name: folder / "dist" / f"{name}.tar.gz" for name in drawn}
    image = f"785573368785.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:{release}-py3"
    with running("triton-ensembles", "endpoint", "--port", "0", cwd=folder, env=installed) as process:
        printed = lines_until(process.stdout, "Ctrl-C")
        (url,) = re.findall(r"^export AWS_ENDPOINT_URL=(\S+)$", "\n".join(printed), re.MULTILINE)
        with urllib.request.urlopen(url) as page:  # whose templates are in the wheel
            assert b"</html>" in page.read()
        by_name = [(path.name, path) for path in archives.values()]
        create_endpoint(RunningEndpoint(url, "us-east-1"), ENDPOINT, by_name, Containers(image))
        runtime = RunningEndpoint(url).client("sagemaker-runtime")
        for name, archive in archives.items():
            call = {"EndpointName": ENDPOINT, "TargetModel": archive.name, "ContentType": "application/json"}
            reply = runtime.invoke_endpoint(**call, Body=(folder / f"{name}.json").read_bytes())
            compare(name, {output["name"]: output["data"] for output in json.load(reply["Body"])["outputs"]})
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 0


def test_the_page_prints_what_it_says(installed: dict[str, str], tmp_path: Path) -> None:
    """Otherwise the first hour of a newcomer is not the one that docs/getting-started.md promises."""
    python_or_skip(cpu("24.09").python)
    shutil.copytree(ROOT / "examples" / "broken", tmp_path / "examples" / "broken")
    with Ports.reserved() as ports:
        session = replay(PAGE, tmp_path, installed, {"serve": port_options(ports), "endpoint": ["--port=0"]})
    assert len(session) > 8
    for command, says, printed in session:
        assert printed == says, command


def compare(name: str, answer: dict[str, Any]) -> None:
    expected = ANSWERS[name]
    assert {*answer} == {*expected}, answer
    for output, values in expected.items():
        assert answer[output] == (values if isinstance(values[0], str) else pytest.approx(values, abs=1e-5)), name
