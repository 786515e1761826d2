"""The ensembles that do not lead, in a project of their own with small stand-ins: the same tensors, fewer layers.

CI would wait minutes for the full ones. They are built and served by one server for the test modules of this folder,
and what is built and downloaded is kept in the build folder of this project.
"""

import shutil
from collections.abc import Iterator

import pytest
import tritonclient.http as http

from checkout import ENSEMBLES, ROOT
from tests.places import built_by
from triton_ensembles.building.built import Built
from triton_ensembles.building.packed.gateway_repository import stage_gateway
from triton_ensembles.building.places import Places
from triton_ensembles.host.gateway.models_toml import read_table
from triton_ensembles.server.clients import http_client
from triton_ensembles.server.gateway_server import GatewayServer
from triton_ensembles.triton.targets import CPU

RESNET, YOLO, BERT = "resnet", "yolov5", "bert_base"
NAMES = (RESNET, YOLO, BERT)
RESNET_SEEDS = {1: 2015, 2: 2021}
_SMALLER = {
    RESNET: [
        (f"{{ seed = {seed} }}", f'{{ seed = {seed}, blocks = ["1", "1", "1", "1"] }}')
        for seed in RESNET_SEEDS.values()
    ],
    YOLO: [("{ seed = 2021 }", "{ seed = 2021, width = 25 }")],
    BERT: [("{ seed = 2018 }", "{ seed = 2018, layers = 1 }")],
}


@pytest.fixture(scope="session")
def small_places(places: Places, tmp_path_factory: pytest.TempPathFactory) -> Places:
    """The places of a project with copies of the three ensembles."""
    folder = tmp_path_factory.mktemp("small")
    made = Places.of(folder)
    for name in ("pipelines", "envs"):
        shutil.copytree(ROOT / name, folder / name)
    for name in NAMES:
        shutil.copytree(ENSEMBLES / name, made.ensembles / name)
        recipe = made.ensembles / name / "ensemble.toml"
        text = recipe.read_text()
        for full, small in _SMALLER[name]:
            assert text.count(full) == 1
            text = text.replace(full, small)
        # Without an address that answers, weights are random on every machine.
        recipe.write_text(text.replace("https://", "https://nowhere.invalid/").replace('hub = "', 'hub = "nobody/'))
    made.build.mkdir()
    for name, kept in (("store", places.store), ("downloads", places.build / "small-downloads")):
        kept.mkdir(parents=True, exist_ok=True)
        (made.build / name).symlink_to(kept.resolve())
    return made


@pytest.fixture(scope="session")
def small(small_places: Places) -> dict[str, Built]:
    return {name: built_by(small_places, name) for name in NAMES}


@pytest.fixture(scope="session")
def small_server(small: dict[str, Built], small_places: Places) -> Iterator[GatewayServer]:
    """The gateway before all three."""
    path = ROOT / "gateway" / "models.toml"
    folder = stage_gateway(list(small.values()), read_table(path), path, small_places, CPU)
    with GatewayServer(folder, log=small_places.build / "gateway.log") as server:
        yield server


@pytest.fixture
def small_client(small_server: GatewayServer) -> Iterator[http.InferenceServerClient]:
    """Connect a client of KServe v2 to the gateway's port."""
    with http_client(small_server, network_timeout=300, connection_timeout=300) as client:
        yield client
