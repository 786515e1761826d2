"""model.py before the real server: what the rules say of a request is what happens to it (answers.yaml)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checking.packing import faults
from tests.checking.pieces import read_table
from tests.checking.served import ModelLoader
from tests.checking.test_cases import example
from triton_ensembles.checking.fault import Severity
from triton_ensembles.checking.staging_example import stage

TABLE = read_table(Path(__file__).with_name("answers.yaml"), {"files"}, {"given"}, set(), {"answer"})
CASES = TABLE["cases"]


def staged(folder: Path, name: str) -> None:
    stage(example(TABLE, CASES[name], name), folder, name)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelLoader]:
    folder = tmp_path_factory.mktemp("answers")
    for name in CASES:
        staged(folder / "models", name)
    with ModelLoader(folder / "models", folder) as server:
        yield server
        server.kill()  # requests that nobody answers hold it


def _answer(server: ModelLoader, model: str, seconds: float) -> str:
    tensor = {"name": "X", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}
    try:
        return server.ask(model, {"inputs": [tensor], "outputs": [{"name": "Y"}]}, seconds)
    except TimeoutError:
        return ""


@pytest.mark.parametrize("name", CASES)
def test_the_server_does_what_the_checker_says(name: str, server: ModelLoader, tmp_path: Path) -> None:
    """Otherwise a model that fails every request is built, or one that answers is refused."""
    words = CASES[name]["answer"]
    staged(tmp_path, name)
    staged(tmp_path, "good")
    errors = {fault.rule for fault in faults(tmp_path) if fault.severity is Severity.ERROR}
    assert errors == set(CASES[name]["says"])
    assert server.load_surely(name).loaded and server.load_surely("good").loaded
    answer = _answer(server, name, seconds=60 if words else 3)
    assert words in answer and bool(words) == bool(answer), answer
