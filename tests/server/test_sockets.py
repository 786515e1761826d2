"""Servers on Unix sockets: whatever the temporary folder is called, and nothing is left of them."""

import stat
import tempfile
from pathlib import Path

import pytest

from tests.processes import wait_until
from tests.repositories import write_chain
from tests.running import grpc_client, sent, serving
from triton_ensembles.server.server_command import Reach
from triton_ensembles.server.triton_server import TritonServer


@pytest.mark.parametrize("name", ["x" * 51, "x" * 90, "percent%41 and a space"])
def test_sockets_are_reached_whatever_the_temporary_folder_is_called(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path of a socket has at most 107 bytes, and gRPC decodes what is percent-encoded in it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        usual = Path(short) / name
        usual.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(usual))
        with serving(TritonServer([write_chain(tmp_path / "models")], reach=Reach.SOCKETS)) as server:
            folder = Path(server.metrics_url.removeprefix("unix:")).parent
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert grpc_client(server).is_model_ready("six")
            assert sent(server.http_url, "GET", "/v2/models/six/ready")[0] == 200
            wait_until((folder / "metrics").exists)  # Triton opens it last
            assert b"nv_inference_count" in sent(server.metrics_url, "GET", "/metrics")[1]
        assert not folder.exists() and not list(usual.iterdir())


@pytest.mark.filterwarnings("error")
def test_a_server_that_is_not_started_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        server = TritonServer([write_chain(tmp_path / "models")])
        assert len(list(Path(short).iterdir())) == 1
        del server
        assert not list(Path(short).iterdir())
