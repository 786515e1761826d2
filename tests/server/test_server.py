"""The real tritonserver as a process: what users see when it cannot start, and that it leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.hosting import archives
from tests.processes import environments_of, wait_for_end, wait_until
from tests.running import lines_until, port_options, running
from triton_ensembles.building.built import Built
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.processes import command_line, descendants
from triton_ensembles.hosting.environment_sizes import EnvironmentSizes
from triton_ensembles.server.home import find_home
from triton_ensembles.server.ports import LOOPBACK, Ports
from triton_ensembles.server.sagemaker_server import SageMakerServer
from triton_ensembles.server.triton_server import TritonServer


def make_repository(folder: Path, initialize: str = "pass") -> Path:
    return archives.written(archives.model(initialize=initialize), folder)


def listening(port: int) -> set[str]:
    """The addresses on which this port is listened on: the last four bytes, as /proc/net/tcp and tcp6 write them."""
    lines = [line for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    rows = [line.split() for line in lines]
    return {row[1].split(":")[0][-8:] for row in rows if row[3] == "0A" and row[1].endswith(f":{port:04X}")}


def test_ports_are_on_loopback_and_no_other_process_gets_them_before_the_server_has_stopped(tmp_path: Path) -> None:
    """Otherwise two servers that start at the same time may get the same free port."""
    server = TritonServer([make_repository(tmp_path / "repository")], log=tmp_path / "log")
    with socket.socket() as other, pytest.raises(OSError, match="already in use"):
        other.bind((LOOPBACK, server.ports.http))
    with server, socket.socket() as other:
        with pytest.raises(OSError, match="already in use"):
            other.bind((LOOPBACK, server.ports.http))
        for port in (server.ports.http, server.ports.grpc, server.ports.metrics):
            assert listening(port) == {"0100007F"}  # the loopback interface alone
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind((LOOPBACK, server.ports.http))
        other.listen()


def test_a_server_that_aborts_on_a_busy_machine_is_started_once_more(tmp_path: Path) -> None:
    """2.51.0 does so when its stubs start too slowly (server#8882). Any other end is reported at once."""
    flag, log = tmp_path / "aborted", tmp_path / "log"
    abort = (
        f"import os, signal; first = not os.path.exists({str(flag)!r}); open({str(flag)!r}, 'a').write('x'); "
        "first and (print('{words}', flush=True), os.kill(os.getppid(), signal.SIGABRT))"
    )
    repository = make_repository(tmp_path / "models", abort.format(words="boost::interprocess::lock_exception"))
    with TritonServer([repository], log=log) as server:
        assert server.alive()
    assert flag.read_text() == "xx"
    assert log.read_text().count("Started HTTPService") == 1 and "lock_exception" in log.read_text()

    flag.unlink()
    other = make_repository(tmp_path / "others", abort.format(words="some other fault"))
    with pytest.raises(EnsembleError, match="tritonserver stopped while it loaded"):
        TritonServer([other], log=log).start()
    assert flag.read_text() == "x"


def test_a_missing_binary_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(EnsembleError, match=r"tritonserver: this binary of Triton is missing; run: make setup"):
        find_home(tmp_path)


def test_each_server_removes_all_that_is_its_own_and_nothing_of_another(tmp_path: Path) -> None:
    """Also when it is killed, or a client keeps its connection open. Otherwise one server is charged for the unpacked
    environment of another, or deletes it while its steps run."""
    small, large = (
        archives.written(archives.with_environment(archives.model(), megabytes=size), tmp_path / f"of_{size}_mib")
        for size in (2, 5)
    )
    with (
        TritonServer([small], log=tmp_path / "1") as one,
        TritonServer([large], log=tmp_path / "2") as two,
        socket.create_connection((LOOPBACK, one.ports.http)) as client,
    ):
        client.sendall(b"GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(15) == b"HTTP/1.1 200 OK"
        processes = [one.pid, *descendants(one.pid)]
        memory = list(Path("/dev/shm").glob(f"triton_ensembles_*_{one.ports.metrics}*"))
        folders = [server.note_environments() for server in (one, two)]
        assert folders[0] == environments_of(processes) and memory
        assert [EnvironmentSizes().total(each) >> 20 for each in folders] == [2, 5]
        one.stop()
        assert wait_for_end(processes) == []
        assert not [each for each in (*folders[0], *memory) if each.exists()]
        (others,) = two.note_environments()
        assert others.exists()
        two.stop(at_once=True)
        assert not others.exists()


def test_stopping_a_killed_server_ends_its_stubs(tmp_path: Path) -> None:
    """Otherwise alive() reaps the server, and its stubs, which belong to its session, cannot be found any more."""
    repository = make_repository(tmp_path / "repository", "import time; time.sleep(600)")
    server = TritonServer([repository], log=tmp_path / "log")
    server.launch()
    try:
        # Others of its children, by which it looks at the machine, end at once.
        while not (stubs := [pid for pid in descendants(server.pid) if "/model.py" in command_line(pid)]):
            time.sleep(0.05)
        os.kill(stubs[0], signal.SIGSTOP)  # otherwise it notices that its server is gone, and ends
        os.kill(server.pid, signal.SIGKILL)
        wait_until(lambda: not server.alive())  # a little after the first of its threads, by which /proc calls it ended
    finally:
        server.stop()
    assert wait_for_end(stubs) == []


def test_only_one_of_several_threads_stops_a_server(tmp_path: Path) -> None:
    """Otherwise deleting an endpoint while its server restarts could stop the wrong process."""

    class StoppedTwice(SageMakerServer):
        """A second thread stops it while it is being stopped, and continues when the first one has ended."""

        second: Future[None] | None = None
        entered = 0

        def note_environments(self) -> frozenset[Path]:
            super().note_environments()
            self.entered += 1
            if self.second is not None:
                first.result()
                return
            self.second = threads.submit(self.stop)
            deadline = time.monotonic() + 1
            while self.entered < 2 and time.monotonic() < deadline:
                time.sleep(0.01)

    (tmp_path / "empty").mkdir()
    with ThreadPoolExecutor() as threads:
        server = StoppedTwice(tmp_path / "empty", log=tmp_path / "log")
        server.start()
        first = threads.submit(server.stop)
        first.result()
        assert server.second is not None
        server.second.result()
    assert server.entered == 1


def test_killing_the_parent_ends_the_server_and_its_stubs(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository")
    code = (
        "import sys, time; from pathlib import Path; from triton_ensembles.server.triton_server import TritonServer\n"
        f"server = TritonServer([Path({str(repository)!r})]).start(); print(server.pid, flush=True); time.sleep(600)"
    )
    with running(sys.executable, "-c", code) as parent:
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        processes = [server, *descendants(server)]
        assert len(processes) >= 2
        parent.kill()
        parent.wait()
    assert wait_for_end(processes) == []


def serve(ports: Ports) -> AbstractContextManager[subprocess.Popen[str]]:
    """`serve` as a background job of a shell runs it, with SIGINT ignored at the start."""
    command = (sys.executable, "build.py", "serve", "bert_trt", *port_options(ports))
    return running(*command, ignoring=signal.SIGINT, stderr=subprocess.PIPE, start_new_session=True)


def test_serve_prints_its_addresses_and_ctrl_c_stops_it(built: dict[str, Built]) -> None:
    with Ports.reserved() as ports, serve(ports) as process:
        assert f"http://127.0.0.1:{ports.http}/v2" in "\n".join(lines_until(process.stdout, "metrics  "))
        with urllib.request.urlopen(f"http://127.0.0.1:{ports.metrics}/metrics") as reply:
            assert b"nv_inference_count" in reply.read()
        started = descendants(process.pid)
        assert started
        lines_until(process.stdout, "Ctrl-C stops it")
        os.killpg(process.pid, signal.SIGINT)  # what a terminal sends on Ctrl-C
        output, errors = process.communicate(timeout=300)
        assert (process.returncode, "error" in errors) == (0, False)
        assert output.endswith("stopped\n")
        assert wait_for_end(started) == []


class Interrupted(TritonServer):
    def launch(self) -> None:
        super().launch()
        raise KeyboardInterrupt  # as of a signal that came meanwhile


def test_ctrl_c_as_the_process_starts_leaves_none(tmp_path: Path) -> None:
    """Otherwise the server's steps wait for ever for one that is gone."""
    server = Interrupted([make_repository(tmp_path)])
    with pytest.raises(KeyboardInterrupt):
        server.start()
    assert not server.alive()
