"""Five repositories as strangers have them, with nothing but the wheel: checked, run, served, fused, asked with boto3.

What was seen at the first try in each of them is what people see who try their own.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from checkout import ROOT
from tests.repositories import pack
from tests.running import lines_until, running
from tests.strangers.examples import ANSWERS, REQUESTS
from tests.strangers.networks import copy_of
from tests.strangers.transcript import replay
from triton_ensembles.triton.interpreter import find_interpreter
from triton_ensembles.triton.ports import Ports
from triton_ensembles.triton.targets import cpu

PAGE = ROOT / "docs" / "getting-started.md"
CLIENT = Path(__file__).with_name("client.py")
SERVABLE = {"sentiment": "sentiment", "branches": "fraud", "bls": "router"}  # with numpy alone; the model that is asked
FUSED = {"24.09": ("photos", "bls", "churn"), "26.05": ("sentiment",)}
CHECKED = {
    "sentiment": ("no faults in 1 repository", 0),
    "photos": ("has no module 'PIL'", 1),
    "bls": ("no faults in 1 repository", 0),
    "branches": ("note[ensemble-branch]: tree (step 2) and net (step 3) run beside each other", 0),
    "churn": ("has no module 'pandas'", 1),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The five repositories, the request for each, and archives of three as tar makes them."""
    folder = tmp_path_factory.mktemp("work")
    for name, tensors in REQUESTS.items():
        copy_of(name, folder)
        (folder / f"{name}.json").write_text(json.dumps({"inputs": tensors}))
    for name in SERVABLE:
        pack(folder / name, folder / f"{name}.tar.gz", *(path.name for path in sorted((folder / name).iterdir())))
    return folder


def run(installed: dict[str, str], folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["triton-ensembles", *words]
    return subprocess.run(command, cwd=folder, env=installed, capture_output=True, text=True)


@pytest.mark.parametrize("name", REQUESTS)
def test_check_says_what_there_is_to_say(installed: dict[str, str], folder: Path, name: str) -> None:
    done = run(installed, folder, "check", name)
    says, code = CHECKED[name]
    assert says in done.stdout and done.returncode == code, done.stdout
    if code:
        assert "build REPOSITORY --target fused" in done.stdout


@pytest.mark.parametrize("name", SERVABLE)
def test_check_runs_each_model(installed: dict[str, str], folder: Path, name: str) -> None:
    done = run(installed, folder, "check", name, "--run")
    assert done.returncode == 0, done.stdout
    models = {path.parent.name for path in (folder / name).glob("*/config.pbtxt")}
    assert {f"asking {model}" for model in models} <= {*done.stderr.splitlines()}


def test_the_server_answers_what_their_code_means(installed: dict[str, str], folder: Path) -> None:
    """Files of theirs stay as they are, and no others appear."""
    before = sorted(folder.rglob("*"))
    with Ports.reserved() as ports:
        options = [f"--{name}-port={getattr(ports, name)}" for name in ("http", "grpc", "metrics")]
        with running("triton-ensembles", "serve", *SERVABLE, *options, cwd=folder, env=installed) as process:
            lines_until(process.stdout, "Ctrl-C")
            for name, model in SERVABLE.items():
                url = f"http://127.0.0.1:{ports.http}/v2/models/{model}/infer"
                with urllib.request.urlopen(url, (folder / f"{name}.json").read_bytes()) as reply:
                    compare(name, {output["name"]: output["data"] for output in json.load(reply)["outputs"]})
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("release", FUSED)
def test_boto3_gets_the_same_from_fused_archives_and_from_those_of_tar(
    installed: dict[str, str], folder: Path, release: str
) -> None:
    """The router cannot call from an archive as drawn; a fused one answers as plain Triton does."""
    needs_python_of(release)
    refused = run(installed, folder, "check", "bls.tar.gz")
    assert "error[sagemaker-no-ensemble]" in refused.stdout and refused.returncode == 1
    assert "fix: build the fused form, in which models call each other" in refused.stdout
    built = run(installed, folder, "build", *FUSED[release], "--target", "fused", "--image", release)
    assert built.returncode == 0, built.stderr
    assert release != "24.09" or "import: pillow>=10" in built.stderr  # as its requirements.txt says
    archives = [f"dist/fused/{release}/{name}.tar.gz={name}.json" for name in FUSED[release]]
    archives += ["branches.tar.gz=branches.json"] if release == "24.09" else []
    with local_endpoint(installed, folder) as shell:
        python = Path(installed["PATH"].partition(":")[0]) / "python"
        asked = subprocess.run(
            [python, CLIENT, release, *archives], cwd=folder, env=shell, capture_output=True, text=True
        )
    answers = [json.loads(line) for line in asked.stdout.splitlines()]
    assert len(answers) == len(archives), asked.stderr
    for pair, answer in zip(archives, answers, strict=True):
        compare(pair.partition("=")[2].removesuffix(".json"), answer)


def test_the_page_prints_what_it_says(installed: dict[str, str], tmp_path: Path) -> None:
    """Otherwise the first hour of a newcomer is not the one that docs/getting-started.md promises."""
    needs_python_of("24.09")
    copy_of("sentiment", tmp_path).rename(tmp_path / "models")
    with Ports.reserved() as ports:
        numbers = [f"--{name}-port={getattr(ports, name)}" for name in ("http", "grpc", "metrics")]
        session = replay(PAGE, tmp_path, installed, {"serve": numbers, "endpoint": ["--port=0"]})
    assert len(session) > 8
    for command, says, printed in session:
        assert printed == says, command


def needs_python_of(release: str) -> None:
    if find_interpreter(cpu(release).python) is None:
        pytest.skip(f"there is no Python {cpu(release).python} with a shared library here")


def compare(name: str, answer: dict[str, Any]) -> None:
    expected = ANSWERS[name]
    assert {*answer} == {*expected}, answer
    for output, values in expected.items():
        assert answer[output] == (values if isinstance(values[0], str) else pytest.approx(values, abs=1e-5)), name


@contextmanager
def local_endpoint(installed: dict[str, str], folder: Path) -> Iterator[dict[str, str]]:
    """The shell of a client: the variables that `endpoint` prints."""
    with running("triton-ensembles", "endpoint", "--port", "0", cwd=folder, env=installed) as process:
        printed = lines_until(process.stdout, "Ctrl-C")
        yield installed | dict(re.findall(r"^export (\w+)=(\S+)$", "\n".join(printed), re.MULTILINE))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
