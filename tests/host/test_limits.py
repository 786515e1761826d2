"""What a host does about clients and models that want too much."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.host.conftest import COMPLETE, hosting, put
from tests.hosting import archives
from tests.processes import started_by, wait_until
from tests.running import connected, sent
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.ground.programs import ProgramError, output_of


@pytest.fixture
def models(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


def test_strangers_are_refused(models: Path, tmp_path: Path) -> None:
    """Otherwise a page, a large body, a crowd or a client that stalls takes the host from everybody else."""
    gate = archives.Gate(tmp_path)
    put(models, "quick", archives.model())
    put(models, "held", archives.model(execute=gate.wait))
    token = tmp_path / "token"
    token.write_text("word\n")
    options = ("--token-file", str(token), "--largest-body", "100K", "--requests-at-once", "1", "--seconds", "20s")
    with hosting(models, tmp_path / "root", COMPLETE, *options) as hosted:
        known = {"Authorization": "Bearer word"}
        path = "/v2/models/quick/infer"
        assert hosted.ask("POST", path, archives.body(1.0))[0] == 401
        assert hosted.ask("POST", path, archives.body(1.0), Authorization="Bearer wor")[0] == 401
        assert hosted.ask("GET", "/v2/health/ready")[0] == 200
        assert hosted.ask("POST", path, archives.body(1.0), **known)[0] == 200
        assert hosted.ask("POST", path, archives.body(1.0), **known, Origin="https://foreign.example")[0] == 403
        assert hosted.ask("POST", path, archives.body(1.0), **known, Host="foreign.example")[0] == 403
        assert hosted.ask("POST", path, b" " * 200_000, **known)[0] == 413
        with connected(hosted.address) as stalled:
            head = f"POST /v2/models/held/infer HTTP/1.1\r\nHost: {hosted.address}\r\nAuthorization: Bearer word\r\n"
            stalled.sendall(f"{head}Content-Length: 10\r\n\r\n".encode())
            wait_until(lambda: hosted.ask("POST", path, archives.body(1.0), **known)[0] == 503)  # one at once
            stalled.settimeout(60)
            assert stalled.recv(100).startswith(b"HTTP/1.1 408")
        wait_until(lambda: hosted.ask("POST", path, archives.body(1.0), **known)[0] == 200)


def test_what_is_pinned_stays_and_comes_back(models: Path, tmp_path: Path) -> None:
    """Otherwise the model that must always answer is unloaded for one that nobody asked for twice."""
    fills = "self.kept = bytearray(os.urandom(1) * (150 << 20))"
    for number in range(4):
        put(models, f"large{number}", archives.model(initialize=fills))
    put(models, "always", archives.model(execute="x = x + 1"))
    options = ("--pin", "always", "--memory-budget", "600M")
    with hosting(models, tmp_path / "root", COMPLETE, *options) as hosted:
        for number in (0, 1, 2, 3, 0):
            assert hosted.infer(f"large{number}", 5) == [5]
        assert hosted.state("always") == "READY" and hosted.metric("host_unloads_total") >= 1
        assert "pinned" in hosted.ask("POST", "/v2/repository/models/always/unload", b"{}")[1]["error"]
        hosted.kill_triton()
        wait_until(
            lambda: hosted.metric("host_restarts_total") == 1 and hosted.ask("GET", "/v2/health/ready")[0] == 200
        )
        assert hosted.state("always") == "READY" and hosted.infer("always", 1) == [2]
        put(models, "always", archives.model(execute="x = x + 2"))
        wait_until(lambda: hosted.infer("always", 1) == [3])
        assert hosted.infer("large1", 5) == [5]


def test_a_model_whose_process_was_killed_is_loaded_again(models: Path, tmp_path: Path) -> None:
    """Otherwise it fails every request until its archive changes; and what unloads it waits for ever for Triton."""
    for name in ("always", "rarely"):
        put(models, name, archives.model(name))
    with hosting(models, tmp_path / "root", COMPLETE, "--pin", "always") as hosted:

        def kill(name: str) -> None:
            (stub,) = started_by(hosted.pid, f"/{name}/1/model.py")
            os.kill(stub, signal.SIGKILL)

        for ends in ("by a request", "after a crash", "by an unload"):
            if ends == "after a crash":
                hosted.kill_triton()
                wait_until(lambda: hosted.metric("host_restarts_total") == 1)
            assert hosted.infer("rarely", 3) == [3]
            kill("rarely")
            assert "is not healthy" in hosted.error("rarely", 500)
            if ends == "by an unload":
                assert hosted.ask("POST", "/v2/repository/models/rarely/unload", b"{}")[0] == 200
            assert hosted.infer("rarely", 4) == [4]
        before = hosted.metric("host_load_seconds_count")
        kill("always")
        wait_until(lambda: hosted.metric("host_load_seconds_count") == before + 1)  # nobody has to ask
        assert hosted.infer("always", 5) == [5] and hosted.metric("host_restarts_total") == 1


def test_what_was_loaded_comes_back(models: Path, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        put(models, name, archives.model())
    with hosting(models, tmp_path / "root", COMPLETE, "--preload", "last") as hosted:
        hosted.infer("two", 1)
        wait_until((tmp_path / "root" / "loaded.txt").is_file)
    with hosting(models, tmp_path / "root", COMPLETE, "--preload", "last") as hosted:
        wait_until(lambda: hosted.state("two") == "READY")
        assert hosted.state("one") == "UNAVAILABLE"


def test_archives_of_s3(tmp_path: Path) -> None:
    with LocalEndpoint(tmp_path / "endpoint") as local:
        s3 = local.client("s3")
        s3.create_bucket(Bucket="bucket")
        s3.put_object(Bucket="bucket", Key="models/identity.tar.gz", Body=archives.packed(archives.model()))
        s3.put_object(Bucket="bucket", Key="models/below/other.tar.gz", Body=b"")
        options = (COMPLETE, "--s3-url", local.url)
        with hosting("s3://bucket/models", tmp_path / "root", *options, environment=local.environment()) as hosted:
            assert hosted.infer("identity", 4) == [4]
            body = archives.packed(archives.model(execute="x = -x"))
            s3.put_object(Bucket="bucket", Key="models/identity.tar.gz", Body=body)
            wait_until(lambda: hosted.infer("identity", 4) == [-4])
            assert [model["name"] for model in hosted.ask("POST", "/v2/repository/index")[1]] == ["identity"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nowhere"], "there is no such folder"),
        (["s3://"], "it names no bucket"),
        ([".", "--pin", "nobody"], "--pin nobody: there is no model 'nobody'"),
        ([".", "--token-file", "nowhere"], "the token cannot be read"),
        ([".", "--memory-budget", "0"], "'--memory-budget': '0' is not a valid size: write it as 500M or 8G"),
        ([".", "--preload", "nowhere"], "--preload cannot be read"),
    ],
)
def test_bad_options_are_one_sentence(arguments: list[str], reason: str, models: Path, tmp_path: Path) -> None:
    command = ["host", *(str(models) if word == "." else word for word in arguments), "--root", str(tmp_path / "root")]
    with pytest.raises(ProgramError) as failed:
        output_of([sys.executable, "build.py", *command, "--http-port", "0"])
    assert reason in failed.value.last_line and "Traceback" not in failed.value.output


def test_a_client_that_does_not_read_holds_nobody_up(models: Path, tmp_path: Path) -> None:
    put(models, "wide", archives.model(execute="x = np.repeat(x, 10_000_000)"))
    with hosting(models, tmp_path / "root", COMPLETE, "--seconds", "10s") as hosted:
        assert len(hosted.infer("wide", 1)) == 10_000_000
        body = archives.body(1.0)
        with connected(hosted.address) as stalled:
            head = f"POST /v2/models/wide/infer HTTP/1.1\r\nHost: {hosted.address}\r\n"
            stalled.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            wait_until(lambda: hosted.metric("host_requests_in_flight") == 1)
            assert sent(hosted.address, "GET", "/v2/health/ready")[0] == 200
            wait_until(lambda: hosted.metric("host_requests_in_flight") == 0)
