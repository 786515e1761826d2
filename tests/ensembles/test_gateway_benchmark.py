"""The comparison of the gateway with its reference, in its smallest size: small models, one round, a short time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import gateway
from benchmarks.aws_gateway.environment import FOLDER
from benchmarks.aws_gateway.models import write_models
from benchmarks.aws_gateway.nginx import unpacked_nginx
from benchmarks.aws_gateway.server import Place
from benchmarks.contenders.contender import AWS_GATEWAY, DIRECT, ENGINE, GATEWAY
from benchmarks.contenders.gateway import GatewayContender, aws_gateway, own_gateway
from benchmarks.gateway import load_all
from benchmarks.gateway_engines import Engines
from benchmarks.gateway_requests import MODELS
from benchmarks.loads import Load
from benchmarks.results import Results
from checkout import ROOT
from tests.benchmarks.runs import FACTS
from triton_ensembles.building.built import Built
from triton_ensembles.building.gateway import stage_gateway
from triton_ensembles.building.places import Places
from triton_ensembles.gateway.table import read_table
from triton_ensembles.triton.model_config import read_config
from triton_ensembles.triton.targets import CPU


def reference(folder: Path, places: Places) -> list[GatewayContender]:
    """None where ``python -m benchmarks.aws_gateway`` has not installed its packages."""
    write_models(folder, places, print)
    if not (FOLDER / "venv" / "ready").exists():
        return []
    place = Place(folder, FOLDER / "venv", unpacked_nginx(FOLDER / "nginx"), workers=1)
    return [aws_gateway(AWS_GATEWAY, "", place)]


def test_the_gateways_are_loaded_in_turn(
    small: dict[str, Built], small_places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise `make bench` ends without the figures of docs/gateway.md, or compares different answers."""
    monkeypatch.setattr(gateway, "CONNECTIONS", (2,))
    table = ROOT / "gateway" / "models.toml"
    elsewhere = replace(small_places, build=tmp_path / "build")
    folder = stage_gateway([*small.values()], read_table(table), table, elsewhere, CPU)
    contenders = [*reference(tmp_path / "reference", small_places), own_gateway(GATEWAY, "", folder, 0.02)]
    results = Results(FACTS)
    results.measured += load_all(contenders, Engines({"resnet": small["resnet"].repository}), 1, 0.2, print)
    for load in (Load(model, 1, 2) for model in MODELS):
        assert results.names(load) == [*(each.name for each in contenders), DIRECT]
        for name in results.names(load):
            (cell,) = results.cells(name, load).values()
            assert cell.throughput > 0 and cell.core_seconds > 0
            assert 0 < cell.latency_ms["p50"] <= cell.latency_ms["p99"]
    assert results.names(Load("resnet", 8, 0)) == [ENGINE]
    printed = gateway.throughput_table(results)
    assert {len(row) for row in printed.rows} == {len(printed.header)}


def test_the_references_models_are_the_ensembles_own(small_places: Places, tmp_path: Path) -> None:
    """In the example's form: all logits of bert_base, one image for yolov5, nothing of the ensembles' configs."""
    write_models(tmp_path, small_places, print)
    configs = {path.parent.name: read_config(path) for path in (tmp_path / "models").glob("*/config.pbtxt")}
    assert configs.keys() == {"resnet", "yolov5s", "bert_base"}
    assert {each.platform for each in configs.values()} == {"onnxruntime_onnx"}
    assert [*configs["bert_base"].output[0].dims] == [-1, -1, 30522]
    for name in configs:
        assert (tmp_path / "models" / name / "1" / "model.onnx").stat().st_size > 1e6
