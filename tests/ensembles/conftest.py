"""The ensembles that do not lead, built small and served by one server for the test modules of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tritonclient.http as http

from tests.ensembles.small import NAMES, small_project
from triton_ensembles.building.build import build
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.triton.server import TritonServer
from triton_ensembles.triton.targets import CPU


@pytest.fixture(scope="session")
def small_places(places: Places, tmp_path_factory: pytest.TempPathFactory) -> Places:
    return small_project(tmp_path_factory.mktemp("small"), places)


@pytest.fixture(scope="session")
def small(small_places: Places) -> dict[str, Built]:
    return {
        name: build(small_places.ensembles / name, CPU, small_places, allow_random=True, progress=print)
        for name in NAMES
    }


@pytest.fixture(scope="session")
def small_server(small: dict[str, Built], tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    log = tmp_path_factory.mktemp("small-server") / "tritonserver.log"
    with TritonServer([each.repository for each in small.values()], log=log) as server:
        yield server


@pytest.fixture
def small_client(small_server: TritonServer) -> Iterator[http.InferenceServerClient]:
    with http.InferenceServerClient(small_server.http_url, network_timeout=300, connection_timeout=300) as client:
        yield client
