"""Every port that a command listens on, tried by a foreign web page: nothing runs, changes or can be read."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http

from tests import chain
from tests.endpoint.conftest import BUCKET, Deployer, ask
from tests.ensembles.clients import infer
from tests.host.conftest import hosting, put
from tests.host.gateway.repository import write as write_gateway
from tests.hosting import archives
from tests.processes import started_by
from tests.running import lines_until, port_options, running, serving
from tests.web_pages.attacks import Attack, attacks, may_be_read, ports_of, reads, send
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.server.gateway_server import GatewayServer
from triton_ensembles.server.ports import Ports

LOOPBACK = "0100007F"
SLOW = pytest.mark.slow
MODELS = (chain.NAME, *chain.STEPS)


class Walk:
    """Attacks on the ports of a process and all that it has started, each once, as they appear."""

    def __init__(self, pid: int, folder: Path, public: frozenset[int] = frozenset(), models: tuple[str, ...] = MODELS):
        """``public``: ports of a tritonserver that programs are told of."""
        self.pid, self.public = pid, public
        self.marker = folder / "evil-code-has-run"
        code = f"open({str(self.marker)!r}, 'w').close()"
        evil = archives.written(archives.model(initialize=code), folder / "evil")
        self.changing, self.reading = attacks(self.marker, evil, models), reads(models)
        self.walked: set[int] = set()
        self.servers = 0  # tritonservers seen

    def look(self) -> None:
        """Attack the ports that are new."""
        self.servers |= bool(started_by(self.pid, "/tritonserver "))
        for port, address in ports_of(self.pid).items():
            if port not in self.walked:
                assert address[-8:] == LOOPBACK, "other machines can connect"
                self.walked.add(port)
                self._attack(port)

    def _attack(self, port: int) -> None:
        tried = self.changing if port in self.public else [*self.changing, *self.reading]
        answers = [(attack.name, send(port, attack)) for attack in tried]
        assert not [name for name, answer in answers if may_be_read(answer)]
        if port in self.public:  # that of Triton's metrics has an empty answer to every GET of something else
            answers = [(name, answer) for name, answer in answers if answer.body]
        assert not [f"{name}: {answer.status}" for name, answer in answers if 0 < answer.status < 400]
        assert not self.marker.exists()

    def until_the_end(self, process: subprocess.Popen[str]) -> None:
        """Look all the time, until the process ends without an error."""
        while process.poll() is None:
            self.look()
            time.sleep(0.1)
        assert process.returncode == 0, process.communicate()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    chain.write_chain(tmp_path)
    return tmp_path


def command(project: Path, *words: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "triton_ensembles", "--project", str(project), *words)


@contextmanager
def served(project: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], Ports]]:
    with (
        Ports.reserved() as ports,
        running(*command(project, "serve", *words, *port_options(ports)), stderr=subprocess.STDOUT) as process,
    ):
        lines_until(process.stdout, "Ctrl-C")
        yield process, ports


@pytest.mark.parametrize("watch", [False, True])
def test_serve_answers_programs_as_any_tritonserver_does_and_loads_for_no_page(project: Path, watch: bool) -> None:
    """Otherwise a tab that is open beside `serve --watch` runs Python on the developer's machine."""
    with served(project, chain.NAME, *["--watch"] * watch) as (process, ports):
        walk = Walk(process.pid, project, frozenset({ports.http, ports.grpc, ports.metrics}))
        walk.look()
        assert walk.walked == walk.public
        x = np.array([[1, 2, 3]], np.float32)
        for kind, port in ((tritonclient.http, ports.http), (tritonclient.grpc, ports.grpc)):
            with kind.InferenceServerClient(f"127.0.0.1:{port}") as client:
                assert infer(client, chain.NAME, {"X": x})["Y"].tolist() == [[3, 4, 5]]
                assert client.is_server_ready() and client.is_model_ready(chain.NAME)
                assert client.get_server_metadata() and client.get_model_metadata(chain.NAME)
                assert client.get_model_config(chain.NAME) and client.get_inference_statistics(chain.NAME)


_SHORT = ("--seconds", "0.3", "--concurrency", "1")


@pytest.mark.parametrize(
    ("words", "ports"),
    [
        pytest.param(("perf", chain.NAME, *_SHORT), 2, id="perf"),
        pytest.param(("perf", chain.NAME, *_SHORT, "--protocol", "http"), 2, id="http", marks=SLOW),
        pytest.param(("tune", chain.NAME, *_SHORT, "--p99", "20s", "--minutes", "0.2"), 2, id="tune", marks=SLOW),
        pytest.param(("profile", chain.NAME, *_SHORT, "--batch", "1", "--copies", "1"), 2, id="profile", marks=SLOW),
        pytest.param(("demo", chain.NAME), 1, id="demo", marks=SLOW),  # it ends at once
    ],
)
def test_what_measures_answers_nobody_else(project: Path, words: tuple[str, ...], ports: int) -> None:
    """It goes on as if nothing had been tried, though its server has ports, as perf_analyzer needs them."""
    with running(*command(project, *words), stderr=subprocess.STDOUT) as process:
        walk = Walk(process.pid, project)
        walk.until_the_end(process)
    assert walk.servers and len(walk.walked) >= ports


@pytest.mark.parametrize(
    "words", [("check", "--run"), ("build", chain.NAME, "--prove")], ids=lambda words: " ".join(words[:2])
)
def test_what_tries_models_has_no_ports_at_all(project: Path, words: tuple[str, ...]) -> None:
    with running(*command(project, *words), stderr=subprocess.STDOUT) as process:
        walk = Walk(process.pid, project)
        walk.until_the_end(process)
    assert walk.servers and not walk.walked


def test_the_gateway_answers_programs_only(tmp_path: Path) -> None:
    with serving(GatewayServer(write_gateway(tmp_path / "models"))) as server:
        walk = Walk(server.pid, tmp_path, models=())
        walk.look()
        assert walk.walked == {server.ports.sagemaker}


def test_a_host_answers_programs_only(tmp_path: Path) -> None:
    put(tmp_path, "one", archives.model())
    with hosting(tmp_path, tmp_path / "root") as hosted:
        walk = Walk(hosted.pid, tmp_path, models=("one",))
        walk.look()
        assert walk.walked == {int(hosted.address.rpartition(":")[2])}
        assert hosted.infer("one", 7) == [7]


def test_the_endpoint_answers_programs_and_its_own_page(tmp_path: Path) -> None:
    """Two ports: the one that is printed, and that of S3, of which only the endpoint's process knows the secret."""
    with LocalEndpoint(tmp_path / "endpoint") as local:
        local.client("s3").create_bucket(Bucket=BUCKET)
        local.client("s3").put_object(Bucket=BUCKET, Key="page.html", Body=b"<script>", ContentType="text/html")
        deployer = Deployer(local)
        deployer.put("one.tar.gz", archives.model())
        deployer.multi_model("e")
        walk = Walk(local.pid, tmp_path)
        walk.look()
        port = int(local.url.rpartition(":")[2])
        assert len(walk.walked) == 2 and port in walk.walked
        assert ask(local.client("sagemaker-runtime"), "e", "one.tar.gz", 7) == [7]
        assert local.client("s3").list_buckets()["Buckets"][0]["Name"] == BUCKET

        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        page = send(port, Attack("", "GET", "/", link))
        assert page.status == 200 and "script-src 'self'" in page.headers["content-security-policy"]
        query = "?response-content-type=text/html"
        for path in (f"/{BUCKET}/page.html", f"/{BUCKET}/one.tar.gz{query}", f"/{BUCKET}", "/no/where", "/metrics"):
            answer = send(port, Attack("", "GET", path, link))
            assert "sandbox" in answer.headers["content-security-policy"], path
            assert answer.headers["x-content-type-options"] == "nosniff"
