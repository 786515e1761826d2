"""`gateway` in a project: builds what the table names, and becomes a host of it."""

import signal
import sys
from pathlib import Path

import requests

from tests import chain
from tests.running import lines_until, running
from triton_ensembles.server.ports import Ports

TABLE = f"""
[[models]]
name = "sum"
version = "1"
model = "{chain.NAME}"
inputs.X = {{ field = "x", form = "json" }}
result = "Y"
"""


def test_the_models_of_the_table_are_built_and_served_until_ctrl_c(tmp_path: Path) -> None:
    chain.write_chain(tmp_path)
    (tmp_path / "gateway").mkdir()
    (tmp_path / "gateway" / "models.toml").write_text(TABLE)
    with Ports.reserved() as ports:
        port = str(ports.sagemaker)
        command = (sys.executable, "build.py", "--project", str(tmp_path), "gateway", "--port", port)
        with running(*command, stderr=-2) as process:
            lines = lines_until(process.stdout, "Ctrl-C")
            assert any("/invocations: sum version 1" in line for line in lines)
            body = {"modelname": "sum", "payload": {"x": [1, 2, 3]}}
            answer = requests.post(f"http://127.0.0.1:{port}/invocations", json=body, timeout=300)
            assert answer.json() == {"modelname": "sum", "version": "1", "result": [3, 4, 5]}
            process.send_signal(signal.SIGINT)
            assert process.wait(120) == 0
