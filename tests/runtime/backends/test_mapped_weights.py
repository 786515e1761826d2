"""Mapped weights in the real server: used where they suit, refused with a line where they do not, never wrong."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.artifacts.test_mapped_weights import FILES, answer, make
from tests.processes import wait_until
from tests.runtime.backends.conftest import ModelServer, mapped_kilobytes
from tests.runtime.backends.networks import VOCABULARY, config, sentences

CONTENT = sentences()
IDS = np.random.default_rng(3).integers(0, VOCABULARY, (4, 6)).astype(np.int32)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a version folder, by their paths in the model's folder."""
    folder = tmp_path_factory.mktemp("made") / "1"
    make(CONTENT, folder)
    return {f"1/{name}": (folder / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    return answer(CONTENT, "ENABLE_ALL", {"IDS": IDS})


@pytest.fixture(autouse=True)
def unloaded(model_server: ModelServer) -> Iterator[None]:
    yield
    for model in model_server.client.get_model_repository_index().models:
        if model.state == "READY" and model.name != "refusals":
            model_server.client.unload_model(model.name)
    index = model_server.client.get_model_repository_index  # 2.51.0 may crash when it loads beside an unload
    wait_until(lambda: not any(model.state == "UNLOADING" for model in index().models))


def changed(made: dict[str, bytes], change: Callable[[dict[str, Any]], object]) -> dict[str, bytes]:
    record = json.loads(made["1/model.gate.json"])
    change(record)
    return made | {"1/model.gate.json": json.dumps(record).encode()}


def warnings_of(server: ModelServer, name: str, count: int = 1) -> list[str]:
    """What the server said of the model's prepacked weights."""
    return server.said(rf"{name}: the prepacked weights of .*", count)


def test_prepacked_weights_are_mapped_by_every_session_and_instance(
    model_server: ModelServer, made: dict[str, bytes], expected: np.ndarray
) -> None:
    """Otherwise each would keep a copy, and say nothing."""
    text = re.sub(r"parameters \{.*\}\n", "", config("shared", instances=2))  # so each has a second session
    model_server.load("shared", text, made)
    for count in (1, 1, 8, 8):
        for found in model_server.infer_together("shared", ["VECTORS"], [{"IDS": IDS}] * count):
            np.testing.assert_allclose(found["VECTORS"], expected, rtol=1e-4, atol=1e-5)
    assert warnings_of(model_server, "shared", 0) == []
    processes = mapped_kilobytes(model_server.repository / "shared" / "1" / "model.weights")
    assert len(processes) == 2
    for sizes in processes:
        assert sizes["Anonymous"] == 0  # no page was copied; "dirty" is also one that waits for the disk
        assert sizes["Rss"] * 1024 > 2 * 1200 * 1200 * 4  # both matrices are read there


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("version", lambda record: record.update(onnxruntime="1.2.3"), "packed by ONNX Runtime 1.2.3, and this is "),
        ("cpu", lambda record: record["instruction_sets"].append("avx999"), "another processor: this one lacks avx999"),
        ("known", lambda record: record["answer"]["VECTORS"].__setitem__(7, 1e6), "is not the recorded one"),
        ("input", lambda record: record["inputs"]["IDS"].update(most=10**6), "the known input is not answered: "),
    ],
)
def test_where_they_do_not_suit_the_plain_weights_give_the_same_answers(
    model_server: ModelServer,
    made: dict[str, bytes],
    expected: np.ndarray,
    name: str,
    change: Callable[[dict[str, Any]], object],
    reason: str,
) -> None:
    """Otherwise an archive would give wrong answers on another instance type, or nobody would know why it is slow."""
    model_server.load(name, config(name), changed(made, change))
    np.testing.assert_array_equal(model_server.infer(name, ["VECTORS"], IDS=IDS)["VECTORS"], expected)
    (line,) = warnings_of(model_server, name)
    assert re.search(reason, line), line


def test_a_level_of_optimization_in_the_config_is_used(model_server: ModelServer, made: dict[str, bytes]) -> None:
    """Otherwise the field would mean nothing where weights are mapped."""
    model_server.load("basic", config("basic", "optimization { graph { level: -1 } }"), made)
    found = model_server.infer("basic", ["VECTORS"], IDS=IDS)["VECTORS"]
    np.testing.assert_allclose(found, answer(CONTENT, "ENABLE_BASIC", {"IDS": IDS}), rtol=1e-4, atol=1e-5)
    (line,) = warnings_of(model_server, "basic")
    assert "optimized at level 0, and the config has optimization.graph.level -1" in line


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", ["cut", "changed", "missing", "other"])
def test_a_damaged_file_is_named(
    model_server: ModelServer, made: dict[str, bytes], tmp_path: Path, file: str, damage: str
) -> None:
    """Otherwise wrong weights would give wrong answers, or a short file would kill the process."""
    content = made[f"1/{file}"]
    if damage == "other":
        make(sentences(seed=9, vocabulary=130), tmp_path / "other")
        content = (tmp_path / "other" / file).read_bytes()
    elif damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "changed":
        content = content[: len(content) // 2] + b"\xff\xff" + content[len(content) // 2 + 2 :]
    files = made | {f"1/{file}": content}
    if damage == "missing":
        del files[f"1/{file}"]
    reason = model_server.refusal(config("bad"), files)
    assert file in reason, reason
    assert re.search(r"damaged|missing|no file", reason), reason


def test_a_file_in_the_middle_of_a_record_is_not_guessed(model_server: ModelServer, made: dict[str, bytes]) -> None:
    """A record that does not know a file is of another model."""
    files = changed(made, lambda record: record["files"].pop("model.weights"))
    assert "model.gate.json does not know model.weights" in model_server.refusal(config("bad"), files)
