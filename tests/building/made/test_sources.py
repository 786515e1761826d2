"""Sources: the places are tried in order, and a file with a wrong sha256 is never used."""

import hashlib
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from triton_ensembles.building.made.sources import Sources, SourceUnavailableError
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.source import Source

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


def source(*places: str | dict[str, str], sha256: str = SHA256, **files: str) -> Source:
    """The file, and those in ``files``, at these addresses and places."""
    fields = [{"url": place} if isinstance(place, str) else place for place in places]
    return Source.model_validate({"from": fields, "files": files or {"model.onnx": sha256}})


def get(tmp_path: Path, wanted: Source, folder: Path | None = None) -> tuple[Path, list[str]]:
    said: list[str] = []
    recipe = tmp_path / "ensemble.toml"
    recipe.touch()
    files = Sources(folder, tmp_path / "cache").files("weights", wanted, recipe, tmp_path, said.append)
    return files["model.onnx"], said


def kept(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "cache").iterdir() if path.suffix != ".lock"]


def test_a_file_is_fetched_once_and_again_where_it_was_damaged_or_is_missing(tmp_path: Path, address: str) -> None:
    path, said = get(tmp_path, source(address))
    assert path.read_bytes() == CONTENT
    assert any("model.onnx" in line for line in said)
    assert get(tmp_path, source(address)) == (path, [])
    path.write_bytes(b"damaged")
    assert get(tmp_path, source(address + "nothing/", address))[0].read_bytes() == CONTENT


@pytest.mark.parametrize("inner", ["weights/model.onnx", "model.onnx"])
def test_the_folder_that_the_user_names_comes_first(tmp_path: Path, inner: str) -> None:
    mine = tmp_path / "mine" / inner
    mine.parent.mkdir(parents=True)
    mine.write_bytes(CONTENT)
    path, said = get(tmp_path, source("http://127.0.0.1:9/"), tmp_path / "mine")
    assert path.read_bytes() == CONTENT
    assert not any("127.0.0.1" in line for line in said)


def test_every_place_that_failed_is_named_with_its_reason(tmp_path: Path, address: str) -> None:
    with pytest.raises(SourceUnavailableError) as caught:
        get(tmp_path, source("http://127.0.0.1:9/", address + "nothing/"), tmp_path)
    message = str(caught.value)
    assert f"folder {tmp_path}: it has neither" in message
    assert "http://127.0.0.1:9/: cannot be reached" in message
    assert "nothing/: answered 404" in message
    assert "WEIGHTS_DIR" in message


def test_a_source_of_two_recipes_is_looked_for_once_and_missed_by_both(tmp_path: Path) -> None:
    """Otherwise each ensemble waits for the same dead host, or the second error names the first recipe."""
    sources, said = Sources(None, tmp_path / "cache"), list[str]()
    for name in ("one", "two"):
        (tmp_path / name).write_text('\n[sources.weights]\nfiles = { "model.onnx" = "" }\n')
        with pytest.raises(SourceUnavailableError) as caught:
            sources.files("weights", source("http://127.0.0.1:9/"), tmp_path / name, tmp_path, said.append)
        assert (caught.value.path, caught.value.line) == (tmp_path / name, 3)
    assert len(said) == 1


def test_each_place_may_have_some_of_the_files(tmp_path: Path, address: str) -> None:
    """Otherwise a tokenizer beside weights of another place needs a source of its own."""
    (tmp_path / "words.txt").write_text("words")
    files = {"words.txt": hashlib.sha256(b"words").hexdigest(), "model.onnx": SHA256}
    path, _ = get(tmp_path, source({"path": "words.txt"}, address, **files))
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    "given", ["weights", "./weights/model.onnx", "{tmp}/weights", "~/weights", "../{name}/weights"]
)
def test_a_path_is_a_file_or_a_folder_of_this_machine(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read where it lies: large weights are not on the disk twice."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "model.onnx").write_bytes(CONTENT)
    path, _ = get(tmp_path, source({"path": given.format(tmp=tmp_path, name=tmp_path.name)}))
    assert path.samefile(tmp_path / "weights" / "model.onnx")
    assert kept(tmp_path) == []


def test_a_changed_file_at_a_path_is_refused_with_the_line_to_write(tmp_path: Path, address: str) -> None:
    """Otherwise a build with the weights of yesterday looks like one with those of today."""
    (tmp_path / "model.onnx").write_bytes(b"trained again")
    files = f'files = {{ "model.onnx" = "{SHA256}" }}'
    (tmp_path / "ensemble.toml").write_text(f'[sources.weights]\nfrom = [{{ path = "." }}]\n{files}\n')
    with pytest.raises(EnsembleError) as caught:
        get(tmp_path, source({"path": "."}))
    assert not isinstance(caught.value, SourceUnavailableError)  # random weights would hide it
    assert caught.value.line == 3
    sha256 = hashlib.sha256(b"trained again").hexdigest()
    assert caught.value.cure == f'if it is the right file, write "model.onnx" = "{sha256}" into the recipe'
    # What another place has is used as before.
    assert get(tmp_path, source({"path": "."}, address))[0].read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("nothing", "path nothing: there is no such file or folder"),
        (".", "path .: it has no model.onnx"),
        ("~nobody-of-this-name/x", "path ~nobody-of-this-name/x: Could not determine home directory"),
    ],
)
def test_a_path_without_the_file_is_named(given: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailableError, match="correct the path") as caught:
        get(tmp_path, source({"path": given}))
    assert reason in str(caught.value)


@pytest.fixture
def s3(moto_s3: Any) -> Any:
    """The file is s3://models/v1/model.onnx."""
    moto_s3.put_object(Bucket="models", Key="v1/model.onnx", Body=CONTENT)
    return moto_s3


def test_a_bucket_can_have_the_files_and_what_it_does_not_have_is_named(
    tmp_path: Path, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for url, sha256, reason in (
        ("s3://models/v2/", SHA256, "it has no model.onnx"),
        ("s3://nothing/v1/", SHA256, "(NoSuchBucket)"),
        ("s3://models/v1/", "0" * 64, "the sha256 of model.onnx is"),
    ):
        with pytest.raises(SourceUnavailableError) as caught:
            get(tmp_path, source(url, sha256=sha256))
        assert f"{url}: " in str(caught.value) and reason in str(caught.value)
        assert kept(tmp_path) == []
    path, _ = get(tmp_path, source("s3://models/v1/"))
    assert path.read_bytes() == CONTENT
    assert get(tmp_path, source("s3://models/v1/")) == (path, [])
    path.unlink()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(SourceUnavailableError, match="Unable to locate credentials"):
        get(tmp_path, source("s3://models/v1/"))


def test_without_boto3_a_bucket_names_what_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the build takes random weights, and the reason is lost."""
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.setattr("triton_ensembles.ground.extras.IS_CHECKOUT", False)
    with pytest.raises(EnsembleError) as caught:
        get(tmp_path, source("s3://models/v1/"))
    words = "an s3:// source needs the package boto3, which is not installed; run: pip install 'triton-ensembles[aws]'"
    assert str(caught.value).endswith(words)
