"""``--server``: everything that starts a server starts the one in the folder that it names, and no other."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http
from click.testing import CliRunner

from checkout import ROOT, TRITON_HOME
from tests.ensembles.clients import infer
from tests.hosting import archives
from tests.repositories import write_chain
from tests.running import lines_until, running, serving
from triton_ensembles.commands.cli import main
from triton_ensembles.ground.files import digest
from triton_ensembles.ground.processes import descendants
from triton_ensembles.server.home import find_home
from triton_ensembles.server.installed import image_of_server, server_at
from triton_ensembles.server.sagemaker_socket import has_sagemaker_socket
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.pip_server import STUB, VERSION, server_python

COMMAND = (sys.executable, "-m", "triton_ensembles")


@pytest.fixture
def second(tmp_path: Path) -> Iterator[Path]:
    """Another copy of what the wheel has, with hard links, where there are some for the temporary folder."""

    def linked(source: str, destination: str) -> None:
        try:
            os.link(source, destination)
        except OSError:
            shutil.copy2(source, destination)

    copy = tmp_path / "opt"
    for name in ("pytriton", "nvidia_pytriton.libs"):
        shutil.copytree(find_home().folder / name, copy / name, copy_function=linked)
    yield copy
    made_for_it = TRITON_HOME / f"server-{digest(str(copy / 'pytriton' / 'tritonserver'))[:8]}"
    shutil.rmtree(made_for_it, ignore_errors=True)


def executable_of(pid: int) -> str:
    return str(Path(f"/proc/{pid}/exe").readlink())


@pytest.mark.slow
def test_commands_start_the_server_that_they_are_told_to(
    second: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise somebody with a newer Triton measures and proves on the old one without knowing."""
    write_chain(tmp_path / "models")
    request = {"inputs": [{"name": "X", "datatype": "FP32", "shape": [1, 2], "data": [1, 10]}]}
    (tmp_path / "models" / "six" / "examples").mkdir()
    (tmp_path / "models" / "six" / "examples" / "one.json").write_text(json.dumps(request))
    started: list[str] = []
    wait = TritonServer.wait_until_ready

    def noted(server: TritonServer) -> None:
        wait(server)
        started.append(executable_of(server.pid))

    monkeypatch.setattr(TritonServer, "wait_until_ready", noted)
    monkeypatch.chdir(tmp_path)
    chosen = ("--server", str(second))
    point = ("--concurrency", "1", "--seconds", "0.6")
    for words in (["check", "--run", "models", *chosen], ["perf", "models", *point, *chosen]):
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, result.output
    assert started == [str(second / "pytriton" / "tritonserver" / "bin" / "tritonserver")] * 2
    assert f"starting tritonserver {VERSION} of opt/pytriton/tritonserver with models" in result.stderr


# Stores of the characters of its SageMaker port's address (sagemaker_socket.py), and what others make it: 127.0.1.
_OF_OTHERS = (("c78318090000", b"unix", b"127."), ("c6831e090000", b"0", b"1"))
_MOVED = (bytes.fromhex("c7831c090000") + b":sm\0", bytes.fromhex("c78350090000") + b"0.0.")


def test_an_endpoint_has_it_in_every_container(second: Path, tmp_path: Path) -> None:
    """Also one of somebody else, whose SageMaker port is TCP, of which it warns."""
    binary = second / "pytriton" / "tritonserver" / "bin" / "tritonserver"
    assert has_sagemaker_socket(binary)
    code = binary.read_bytes().replace(*_MOVED)
    for store, old, new in _OF_OTHERS:
        code = code.replace(bytes.fromhex(store) + old, bytes.fromhex(store) + new)
    binary.unlink()  # it is a hard link
    binary.write_bytes(code)
    binary.chmod(0o755)
    write_chain(tmp_path / "models")
    words = ("endpoint", "models", "--port", "0", "--server", str(second), "--root", str(tmp_path / "root"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with running(*COMMAND, *words, cwd=tmp_path, env=environment, stderr=subprocess.STDOUT) as process:
        lines = lines_until(process.stdout, "logs in")
        own = [pid for pid in descendants(process.pid) if executable_of(pid) == str(binary)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    assert len(own) == 1
    assert any(line.startswith("WARNING: the SageMaker ports of this tritonserver listen") for line in lines)


def test_a_server_laid_out_as_in_an_image_runs_steps_under_its_own_stub(second: Path, tmp_path: Path) -> None:
    """And models of its own backends, which no server of ours has."""
    server = second / "pytriton" / "tritonserver"
    (server / "python_backend_stubs" / server_python() / STUB).replace(server / "backends" / "python" / STUB)
    shutil.rmtree(server / "python_backend_stubs")
    own = server / "backends" / "negative" / "model.py"
    own.parent.mkdir()
    source = archives.model("step", execute="x = -x")
    own.write_bytes(source["step/1/model.py"])
    files = archives.model("plain", execute="x = x * 2") | {
        "other/config.pbtxt": source["step/config.pbtxt"].replace(b"python", b"negative").replace(b"step", b"other"),
        "other/1/empty": b"",
    }
    models = archives.written(files, tmp_path / "models")
    before = sorted(server.rglob("*"))
    triton = server_at(server)
    assert (triton.version, triton.python, list(triton.backends)) == (VERSION, server_python(), ["negative"])
    assert image_of_server(triton) == "24.10" and has_sagemaker_socket(triton.tritonserver)
    with (
        serving(TritonServer([models], home=triton)) as process,
        http.InferenceServerClient(process.http_url) as client,
    ):
        x = np.array([1, 2], np.float32)
        assert infer(client, "plain", {"X": x})["Y"].tolist() == [2, 4]
        assert infer(client, "other", {"X": x})["Y"].tolist() == [-1, -2]
    assert sorted(server.rglob("*")) == before, "nothing may be written into it"


def test_what_is_no_server_is_refused_in_one_line_before_anything_starts(second: Path, tmp_path: Path) -> None:
    server = second / "pytriton" / "tritonserver"
    binary = server / "bin" / "tritonserver"

    def refusal(words: str, folder: Path = second) -> None:
        result = CliRunner().invoke(main, ["serve", str(tmp_path), "--server", str(folder)])
        assert result.exit_code == 2 and words in " ".join(result.output.split()), result.output

    code = binary.read_bytes()
    binary.unlink()  # it is a hard link
    for content, words in (
        (b"#!/bin/sh\n", "this tritonserver does not start: it says no version"),
        (code[:18] + b"\xb7\x00" + code[20:], "this tritonserver does not start: [Errno 8] Exec format error"),
    ):
        binary.write_bytes(content)
        binary.chmod(0o755)
        refusal(words)
    binary.write_bytes(code)
    refusal("there is no bin/tritonserver in this folder", tmp_path)
    (server / "backends" / "python" / "libtriton_python.so").unlink()
    refusal("this Triton has no Python backend: backends/python/libtriton_python.so is missing")
    shutil.rmtree(server / "backends")
    refusal("this Triton has no Python backend")
