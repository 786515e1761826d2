"""The command `endpoint`: what it prints, what it refuses, and that it leaves nothing behind."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from checkout import ROOT
from tests.endpoint.conftest import BUCKET, Deployer, ask
from tests.hosting import archives
from tests.hosting.conftest import COMPLETE
from tests.processes import wait_for_end, wait_until
from tests.running import connected
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.endpoint.settings import Settings
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.processes import descendants


def serve_slow_model(local: LocalEndpoint, execute: str, **variables: str) -> Any:
    """A running endpoint "e" with a model that runs this line of Python; a client."""
    local.client("s3").create_bucket(Bucket=BUCKET)
    deployer = Deployer(local)
    deployer.put("slow.tar.gz", archives.model(execute=execute))
    deployer.multi_model("e", Environment=COMPLETE | variables)
    runtime = local.client("sagemaker-runtime", retries={"total_max_attempts": 1})
    ask(runtime, "e", "slow.tar.gz", 0)
    return runtime


@contextmanager
def ignored(number: int) -> Iterator[None]:
    """What is started meanwhile ignores the signal, as a background job of a shell ignores SIGINT."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)


def test_ctrl_c_stops_it_as_soon_as_it_says_so(tmp_path: Path) -> None:
    """Otherwise a background job that gets the signal at once runs forever."""
    with ignored(signal.SIGINT), LocalEndpoint(tmp_path) as local:
        os.kill(local.pid, signal.SIGINT)
        assert wait_for_end([local.pid]) == []
        assert local.stop() == 0


def test_a_start_that_is_interrupted_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a test that runs into its time limit leaves a server behind."""

    class Interrupt:
        def match(self, line: str) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr("triton_ensembles.endpoint.local.PRINTED_URL", Interrupt())
    local = LocalEndpoint(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        local.start()
    assert wait_for_end([local.pid]) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_lets_running_requests_end_and_leaves_nothing_but_logs(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    gate = archives.Gate(tmp_path_factory.mktemp("gate"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    with ignored(signal.SIGINT), LocalEndpoint(tmp_path / "root") as local, ThreadPoolExecutor() as pool:
        runtime = serve_slow_model(local, f"if x[0] > 1: {gate.wait}")
        answer = pool.submit(ask, runtime, "e", "slow.tar.gz", 2)
        wait_until(gate.reached)
        processes = [local.pid, *descendants(local.pid)]
        regions = list(Path("/dev/shm").glob(f"triton_ensembles_{descendants(local.pid)[0]}_*"))
        private = [*regions, tmp_path / "root" / "logs", tmp_path / "root" / "run"]
        assert regions and not [path for path in private if path.stat().st_mode & 0o077], "another user may read it"
        assert len(processes) >= 4  # the server, S3, tritonserver, the model's Python
        os.kill(local.pid, number)
        wait_until(lambda: "stopping: waiting for running requests" in local.lines)
        for name in ("e", "another"):
            with pytest.raises(ClientError, match="the endpoint server is shutting down; try again") as refused:
                ask(runtime, name, "slow.tar.gz", 0)
            assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
        gate.open()
        assert answer.result() == [2]
        assert wait_for_end(processes) == []
        assert local.stop() == 0
        wait_until(lambda: local.lines[-1] == "stopped")  # a thread reads them
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"root/logs/e.log", "root/logs/platform.log", "root/logs/s3.log"}
    assert "successfully loaded" in (tmp_path / "root" / "logs" / "e.log").read_text()
    assert not list((tmp_path / "tmp").iterdir())
    assert not [path for pid in processes for path in Path("/dev/shm").glob(f"triton_ensembles_{pid}_*")]


@pytest.mark.parametrize("killed", ["the endpoint", "its keeper"])
def test_kill_9_leaves_no_process(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, killed: str) -> None:
    """Not even one that a model has started in a session of its own, with an environment of its own."""
    note = tmp_path_factory.mktemp("note") / "pid"
    start = "import subprocess; p = subprocess.Popen(['sleep', '1000'], start_new_session=True, env={}); "
    with LocalEndpoint(tmp_path) as local:
        serve_slow_model(local, f"{start}open({str(note)!r}, 'w').write(str(p.pid))")
        processes = [local.pid, *descendants(local.pid)]
        assert int(note.read_text()) in processes
        server = descendants(local.pid)[0]
        assert list(Path("/dev/shm").glob(f"triton_ensembles_{server}_*"))
        os.kill(server if killed == "the endpoint" else local.pid, signal.SIGKILL)
        assert wait_for_end(processes) == []
    assert not list(Path("/dev/shm").glob(f"triton_ensembles_{server}_*"))
    assert (tmp_path / "run").exists() is (killed == "the endpoint")
    with LocalEndpoint(tmp_path) as local:  # cleans up
        assert local.client("sagemaker").list_endpoints()["Endpoints"] == []
        assert not list((tmp_path / "run").glob("endpoints"))
    assert not (tmp_path / "run").exists()


def test_the_printed_lines_are_all_that_unchanged_code_needs(local: LocalEndpoint) -> None:
    exports = "\n".join(line for line in local.lines if line.startswith("export "))
    code = "import boto3; boto3.client('s3').list_buckets(); print(boto3.client('sagemaker').list_models()['Models'])"
    bare = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    command = ["bash", "-c", f'{exports}\n{sys.executable} -c "{code}"']
    done = subprocess.run(command, env=bare, capture_output=True, text=True)
    assert done.stdout.startswith("[")


_CURIOUS = """x = x * 0 + ("HOME" not in os.environ) + (os.environ.get("MODE") != "b")
            for file in (f"/proc/{{pid}}/{{name}}" for pid in os.listdir("/proc") for name in ("environ", "cmdline")):
                try:
                    x = x + ({token!r} in open(file, "rb").read())
                except OSError:
                    pass"""


def test_models_find_no_credentials_of_the_developer_in_any_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They run as the same user, and may read the environment of those above them, and of S3's. Their own is that of
    a container."""
    token = secrets.token_hex()
    for name in ("SOME_TOKEN", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, token)  # which the tests' own process shows nobody
    with LocalEndpoint(tmp_path) as local:
        runtime = serve_slow_model(local, _CURIOUS.format(token=token.encode()), MODE="b")
        assert ask(runtime, "e", "slow.tar.gz", 1) == [0]


def test_an_endpoint_of_any_name_has_a_log_of_its_own(local: LocalEndpoint, deployer: Deployer) -> None:
    deployer.single_model("s3", archives.model())
    assert "successfully loaded" not in (local.root / "logs" / "s3.log").read_text()
    assert "successfully loaded" in (local.root / "logs" / "s3.endpoint.log").read_text()


def test_a_busy_port_and_a_busy_folder_are_named(local: LocalEndpoint, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy, pytest.raises(EnsembleError, match=r"cannot be used.*--port"):
        LocalEndpoint(tmp_path, "--port", str(busy.getsockname()[1])).start()
    with pytest.raises(EnsembleError, match=r"another server uses this folder.*--root"):
        LocalEndpoint(local.root).start()


@pytest.mark.parametrize("url", ["http://127.0.0.1:70000", "nonsense"])
def test_a_url_of_no_server_is_refused(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnsembleError, match=r"--s3-url .* is not the URL of a server"):
        Settings(tmp_path, s3_url=url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    with pytest.raises(EnsembleError, match="AWS_ENDPOINT_URL cannot be used"):
        _ = Aws("us-east-1").s3


def test_too_few_open_files_are_named(tmp_path: Path) -> None:
    """Otherwise tritonserver crashes at the first load."""
    command = f"ulimit -n 500; exec {sys.executable} build.py endpoint --port 0 --root {tmp_path}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1 and "500 open files are too few" in done.stderr


def test_a_working_folder_that_is_deleted_is_named(tmp_path: Path) -> None:
    """By the API, the runtime and S3. What a client sends that is not HTTP leaves no traceback in the log."""
    with LocalEndpoint(tmp_path) as local:
        runtime = serve_slow_model(local, "pass")
        deployer = Deployer(local)
        deployer.put("new.tar.gz", archives.model("new"))
        with connected(local.url) as connection:
            connection.sendall(b"GET / HTTP/9.9\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.0 400")
        assert "Traceback" not in (tmp_path / "logs" / "platform.log").read_text()
        shutil.rmtree(tmp_path / "run")
        for call in (lambda: ask(runtime, "e", "new.tar.gz", 1), lambda: deployer.put("newer.tar.gz", b"")):
            with pytest.raises(ClientError, match="its working folder was deleted while it ran; start it again"):
                call()
        assert ask(runtime, "e", "slow.tar.gz", 1) == [1]


def test_a_path_that_a_shell_would_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnsembleError, match=r"letters, digits.*; choose another with --root"):
        Settings(tmp_path / "a b")
