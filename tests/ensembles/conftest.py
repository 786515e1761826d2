"""The ensembles that do not lead, built small and served by one server for the test modules of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tritonclient.http as http

from checkout import ROOT
from tests.ensembles.small import NAMES, small_project
from triton_ensembles.building.build import build
from triton_ensembles.building.built import Built
from triton_ensembles.building.packed.gateway_repository import stage_gateway
from triton_ensembles.building.places import Places
from triton_ensembles.gateway.table import read_table
from triton_ensembles.triton.gateway_server import GatewayServer
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
def small_server(small: dict[str, Built], small_places: Places) -> Iterator[GatewayServer]:
    """The gateway before all three."""
    path = ROOT / "gateway" / "models.toml"
    folder = stage_gateway(list(small.values()), read_table(path), path, small_places, CPU)
    with GatewayServer(folder, log=small_places.build / "gateway.log") as server:
        yield server


@pytest.fixture
def small_client(small_server: GatewayServer) -> Iterator[http.InferenceServerClient]:
    with http.InferenceServerClient(small_server.http_url, network_timeout=300, connection_timeout=300) as client:
        yield client
