"""The archives that may be deployed."""

from pathlib import Path

import pytest

from tests.deploy.conftest import MakeArchive
from triton_ensembles.deploy.archives import common_weights, find_archives, read_archive, refuse_faulty
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.destination import Destination


@pytest.mark.parametrize("content", [b"", b"not an archive", b"\x1f\x8b\x08\x00 cut off"])
def test_a_file_that_is_not_an_archive_is_named(tmp_path: Path, content: bytes) -> None:
    """Otherwise a user would see a traceback."""
    path = tmp_path / "broken.tar.gz"
    path.write_bytes(content)
    with pytest.raises(EnsembleError, match=r"broken\.tar\.gz: error\[archive-"):
        refuse_faulty([read_archive(path)], Destination())
    path.unlink()
    path.mkdir()
    with pytest.raises(EnsembleError, match="this is not an archive"):
        read_archive(path)


def test_without_any_archive_the_error_says_how_to_build_them(tmp_path: Path) -> None:
    with pytest.raises(EnsembleError, match=r"run: build\.py build"):
        find_archives(tmp_path, ["echo"])


def test_the_weights_of_several_archives(make_archive: MakeArchive) -> None:
    """One archive with random weights is enough for a warning; archives of other tools say nothing."""
    pretrained, random, unknown = (make_archive(f"with-{each}", weights=each) for each in ("pretrained", "random", ""))
    assert common_weights([pretrained, pretrained]) == "pretrained"
    provided = make_archive("with-provided", weights="provided")
    assert common_weights([pretrained, provided]) == "provided"
    assert common_weights([provided, unknown]) == ""
    assert common_weights([provided, random]) == "random"
    assert common_weights([pretrained, unknown]) == ""
    assert common_weights([pretrained, unknown, random]) == "random"
