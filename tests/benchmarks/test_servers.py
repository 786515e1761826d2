"""What the parts measure in real servers: a tiny run of `make bench`, cold starts, memory, and the echo."""

import json
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http

from benchmarks.bench import bench
from benchmarks.cold import cold_start
from benchmarks.contenders.contender import DRAWN, ECHO, ENGINE, ENGINE_ONE_THREAD, FUSED
from benchmarks.echo import write_echo
from benchmarks.floor import floor
from benchmarks.memory import grow
from benchmarks.parts import BATCHES, ONE
from tests.ensembles.clients import infer
from tests.files import write_files
from tests.hosting.archives import ensemble, model, packed
from tests.running import client_of
from triton_ensembles.building.built import Built
from triton_ensembles.deploy.payload import Payload, binary
from triton_ensembles.server.triton_server import TritonServer

pytestmark = pytest.mark.slow

_LITTER = "import tempfile; open(tempfile.mkstemp()[1], 'wb').write(bytes(1 << 20))"
_MIB = 2**20


@pytest.fixture
def payload() -> Payload:
    x = http.InferInput("X", [4], "FP32")
    x.set_data_from_numpy(np.zeros(4, np.float32))
    return binary([x], [http.InferRequestedOutput("Y")])


def archive(path: Path, *, initialize: str = "pass") -> Path:
    manifest = {"manifest.json": json.dumps({"ensemble": "pair", "weights": "pretrained"}).encode()}
    path.write_bytes(packed(ensemble("pair", "pair.one") | model("pair.one", initialize) | manifest))
    return path


@pytest.mark.parametrize("initialize, left", [("pass", 0), (_LITTER, _MIB)])
def test_a_cold_start_has_its_times_and_what_the_unload_leaves(
    initialize: str, left: int, payload: Payload, tmp_path: Path
) -> None:
    """Otherwise the page has gaps, or says that nothing is left where a model fills the disk."""
    start = cold_start(archive(tmp_path / "pair.tar.gz", initialize=initialize), payload)
    assert min(start.extract, start.load, start.first, start.processor) > 0
    assert start.total == pytest.approx(start.extract + start.load + start.first)
    assert start.left == left


def test_clones_load_and_answer_in_one_server(payload: Payload, tmp_path: Path) -> None:
    # Far more than the server's files take, which count as less while other tests have them in memory too.
    large = archive(tmp_path / "pair.tar.gz", initialize=f"self.kept = b'1' * {200 * _MIB}")
    (one, single), (two, pair) = grow(large, [payload], (1, 2))
    assert (one, two) == (1, 2)
    assert single > 200 * _MIB and pair - single > 100 * _MIB


def test_the_echo_answers_as_many_bytes_as_the_ensemble(tmp_path: Path) -> None:
    """Otherwise the floor is what a smaller answer takes."""
    config = (
        'name: "pair" backend: "python" max_batch_size: 8 dynamic_batching {}\n'
        'input { name: "X" data_type: TYPE_STRING dims: 1 }\n'
        'output { name: "Y" data_type: TYPE_FP32 dims: 384 }\n'
        'instance_group { count: 2 kind: KIND_CPU } parameters { key: "fused_plan" value { string_value: "0" } }'
    )
    fused = write_files(tmp_path / "pair", {"pair/config.pbtxt": config})
    with client_of(TritonServer([write_echo(fused)])) as client:
        answer = infer(client, "pair_echo", {"X": np.array([[b"a"], [b"b"], [b"c"]], object)})["Y"]
    assert (answer.shape, answer.dtype) == ((3, 384), np.float32)


def test_what_the_floor_is_made_of_and_both_forms_are_measured(built: dict[str, Built], tmp_path: Path) -> None:
    """Otherwise `make bench` ends after half an hour without a report."""
    lines: list[str] = []
    groups = ["engine", "echo", "fused", "drawn"]
    results = bench("one", groups, rounds=1, seconds=0.5, path=tmp_path / "one.json", progress=lines.append)
    assert json.loads((tmp_path / "one.json").read_text())["measured"]
    assert [(each.contender, each.load) for each in results.measured] == [
        (ENGINE, BATCHES[ONE]),
        (ENGINE_ONE_THREAD, BATCHES[ONE]),
        (ECHO, ONE),
        (FUSED, ONE),
        (DRAWN, ONE),
    ]
    for each in results.measured:
        assert each.cell.throughput > 0 and each.cell.p50_ms > 0 and each.cell.others > 0
    assert floor(results, ONE)[1] > 0
    assert results.facts["weights"] == {"bert_trt": built["bert_trt"].manifest["weights"]}
    assert any("fused: 1 short sentence per request, one at a time" in line for line in lines)
