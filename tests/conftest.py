"""The expensive things, made once: every ensemble built as `make build-ensembles` builds them, and one real server."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

# PyPI's torch brings it and imports it late: after tensorflow, that is a segmentation fault.
with suppress(ImportError):
    import triton  # noqa: F401

import pytest
import tritonclient.http as http

from checkout import BUILD, DIST, ENSEMBLES
from tests import order
from tests.chain import build_fused_chain
from tests.checking import verdicts
from tests.places import builder_of, built_by
from triton_ensembles.building.built import Built, choose
from triton_ensembles.building.places import Places
from triton_ensembles.project.recipe.reader import read_recipe
from triton_ensembles.server.triton_server import TritonServer

pytest_plugins = [
    "pytester",
    "tests.browser",
    "tests.drawing",
    "tests.environment_files",
    "tests.s3",
    "tests.wheels",
    "triton_ensembles.pytest_plugin",
]

_SLOW_FILE = re.compile(r"^pytestmark = .*\bmark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without its slow half, do not even import a file that is slow as a whole, nor the frameworks that it imports."""
    if config.getoption("-m") != "not slow" or collection_path.suffix != ".py":
        return None
    return True if _SLOW_FILE.search(collection_path.read_text()) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order.sort(items)


def pytest_sessionfinish() -> None:
    verdicts.write()


@pytest.fixture(scope="session")
def places() -> Places:
    """The project's own build/ and dist/: what is there already and has not changed is not built again."""
    return Places(ENSEMBLES, BUILD, DIST)


@pytest.fixture(scope="session")
def built(places: Places) -> dict[str, Built]:
    """Every leading ensemble of the project, built for the cpu target, by name."""
    return {folder.name: built_by(places, folder.name) for folder in choose(places.ensembles, (), leading=True)}


@pytest.fixture(scope="session")
def fused_chain(places: Places, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A small ensemble of Python steps, fused, in a project of its own (tests/chain.py)."""
    return build_fused_chain(tmp_path_factory.mktemp("chain"), places.store)


@pytest.fixture
def server(
    built: dict[str, Built], triton_server: Callable[..., TritonServer], request: pytest.FixtureRequest
) -> TritonServer:
    """The real tritonserver with every ensemble, or with those that the module names as ``SERVED``.

    It is another one when it has ended by itself: on a machine that does much else, 2.51.0's Python backend sometimes
    ends in a boost::interprocess::lock_exception. That must fail one test, not all that follow.
    """
    return triton_server(*(built[name].repository for name in getattr(request.module, "SERVED", built)))


@pytest.fixture
def client(server: TritonServer) -> Iterator[http.InferenceServerClient]:
    with http.InferenceServerClient(server.http_url, network_timeout=300, connection_timeout=300) as client:
        yield client


@pytest.fixture(scope="session")
def minilm(built: dict[str, Built], places: Places, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of all-MiniLM-L6-v2 that the build fetched, under their own names in one folder."""
    folder = tmp_path_factory.mktemp("minilm")
    for name, sha256 in read_recipe(places.ensembles / "bert_trt").sources["minilm"].files.items():
        (folder / name).symlink_to((places.downloads / sha256).resolve())
    return folder


@pytest.fixture(scope="session")
def inception_graph(built: dict[str, Built], places: Places) -> Path:
    """The frozen graph from which dali_inception's files for OpenVINO are made."""
    builder = builder_of(places, "dali_inception")
    return builder.make(builder.plan.selected["inception_graphdef"].file).path
