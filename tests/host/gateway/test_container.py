"""The life of the gateway's container: readiness, SIGTERM, and the end of its Triton."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
import requests

from tests.host.gateway.client import named, send
from tests.host.gateway.repository import write
from tests.processes import wait_until
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.server.gateway_server import GatewayServer


def test_requests_under_way_are_answered_at_sigterm(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with GatewayServer(write(tmp_path / "models")) as server, ThreadPoolExecutor() as pool:
        slow = pool.submit(send, server, named("waits", {"path": str(gate)}))
        wait_until(gate.with_name("gate.reached").exists)
        os.kill(server.pid, signal.SIGTERM)
        time.sleep(0.5)
        assert server.alive()
        gate.touch()
        assert slow.result()[:2] == (200, {"modelname": "waits", "version": "1", "result": [str(gate)]})
        wait_until(lambda: not server.alive())


def test_a_model_that_triton_lacks_ends_the_container_by_its_name(tmp_path: Path) -> None:
    """Otherwise it is never ready, and SageMaker says so after ten minutes, without a reason."""
    folder, log = write(tmp_path / "models"), tmp_path / "log"
    (folder / "file").rename(tmp_path / "elsewhere")
    with pytest.raises(EnsembleError, match="stopped while it loaded"):
        GatewayServer(folder, log=log).start()
    assert "models.toml: size version 1: there is no model 'file'" in log.read_text()


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
            with suppress(requests.ConnectionError):  # while it does not listen yet
                answer = requests.get(f"http://{server.sagemaker_url}/ping", timeout=60)
                assert answer.status_code == 503
                reason = answer.json()["error"]
            time.sleep(0.1)
        assert reason == "size version 1: Triton's model file has no output SZE; it has SIZE"
    finally:
        server.stop()
