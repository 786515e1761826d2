"""The life of the gateway's container: readiness, SIGTERM, and the end of its Triton."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.gateway.client import named, send
from tests.gateway.repository import write
from triton_ensembles.ground.processes import children, wait_for_end
from triton_ensembles.triton.gateway_server import GatewayServer


def test_requests_under_way_are_answered_at_sigterm(tmp_path: Path) -> None:
    gate, answers = tmp_path / "gate", []
    with GatewayServer(write(tmp_path / "models")) as server:
        slow = threading.Thread(target=lambda: answers.append(send(server, named("waits", {"path": str(gate)}))))
        slow.start()
        while not gate.with_name("gate.reached").exists():
            time.sleep(0.01)
        os.kill(server.pid, signal.SIGTERM)
        time.sleep(0.5)
        assert server.alive()
        gate.touch()
        slow.join()
        wait_for_end(server.pid, 100)
        assert not server.alive()
    assert answers[0][:2] == (200, {"modelname": "waits", "version": "1", "result": [str(gate)]})


def test_the_container_ends_when_triton_does_and_says_so(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with GatewayServer(write(tmp_path / "models"), log=log) as server:
        os.kill(children(server.pid)[0], signal.SIGKILL)
        wait_for_end(server.pid, 100)
        assert not server.alive()
    assert "tritonserver ended on its own with signal 9, so the container ends" in log.read_text()


def test_it_is_not_ready_while_the_table_does_not_fit_the_models(tmp_path: Path) -> None:
    folder = write(tmp_path / "models")
    table = folder / "models.toml"
    table.write_text(table.read_text().replace('result = ["SIZE"]', 'result = ["SZE"]'))
    server = GatewayServer(folder)
    server.launch()
    try:
        reason = "not ready"
        while "not ready" in reason:
            assert server.alive()
            try:
                urllib.request.urlopen(f"http://{server.sagemaker_url}/ping", timeout=60)
            except urllib.error.HTTPError as error:
                reason = json.loads(error.read())["error"]
                assert error.code == 503
            except urllib.error.URLError:
                time.sleep(0.1)  # it does not listen yet
        assert reason == "size version 1: Triton's model file has no output SZE; it has SIZE"
    finally:
        server.stop()
