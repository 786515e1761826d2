"""The archives that may be deployed."""

from pathlib import Path

import pytest

from triton_ensembles.deploy.archives import find_archives, read_archive, refuse_faulty
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
