"""`make setup` makes what is missing, and repairs what is damaged."""

from pathlib import Path

import pytest

from triton_ensembles.server.home import find_home, install_home
from triton_ensembles.server.sagemaker_socket import has_sagemaker_socket


@pytest.mark.slow
def test_a_damaged_home_is_made_again_and_a_whole_one_is_kept(tmp_path: Path) -> None:
    """Otherwise a server fails in strange ways until somebody removes .triton by hand."""
    said: list[str] = []
    home = install_home(tmp_path / ".triton", said.append)
    assert len(said) == 1 and said[0].startswith("installing tritonserver")
    added = home.folder / "backends-3.11"
    added.mkdir()
    assert install_home(tmp_path / ".triton", said.append).folder == home.folder
    assert len(said) == 1 and added.is_dir()

    backend = home.python_backend / "libtriton_python.so"
    whole = backend.read_bytes()
    for damaged in (None, whole[:-1] + bytes([whole[-1] ^ 1])):
        backend.unlink()
        if damaged is not None:
            backend.write_bytes(damaged)
        install_home(tmp_path / ".triton", said.append)
        assert said[1] == ".triton/2.51.0 is damaged, so it is made again"
        assert backend.read_bytes() == whole
        del said[1:]
    assert has_sagemaker_socket(find_home(tmp_path / ".triton").tritonserver)
