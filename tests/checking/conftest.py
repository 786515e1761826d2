"""The folder that the tests of reports run in, and an endpoint."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checking.endpoint import Endpoint
from triton_ensembles.triton.sagemaker_server import SageMakerServer


@pytest.fixture
def git_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``tmp_path`` is the root of a git repository and the working folder."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """An empty endpoint of several models."""
    folder = tmp_path_factory.mktemp("endpoint")
    (folder / "empty").mkdir()
    with SageMakerServer(folder / "empty", log=folder / "triton.log") as server:
        yield Endpoint(server, folder)
