"""Mapped weights in a build: made for the models that ONNX Runtime runs on the CPU, and recorded."""

import json
from pathlib import Path

import onnxruntime as ort

from tests.runtime.backends.embedding import embedding
from tests.runtime.backends.networks import sentences
from triton_ensembles.building.built import Built
from triton_ensembles.building.made.artifact_builder import MadeArtifact
from triton_ensembles.building.made.mapped_weights import derivations, map_weights
from triton_ensembles.building.made.store import Store
from triton_ensembles.building.packed.inputs import digest_of_inputs
from triton_ensembles.building.places import Places
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.ground.files import file_digest
from triton_ensembles.triton.model_config import read_config
from triton_ensembles.triton.targets import CPU, gpu

FILES = {"model.gate.json", "model.onnx", "model.prepacked.onnx", "model.weights"}


def test_the_manifest_records_every_file(built: dict[str, Built]) -> None:
    """Otherwise nobody could tell which weights an archive has, or for which processor."""
    folder = built["bert_trt"].repository / "bert_trt.bert-trt" / "1"
    assert {path.name for path in folder.iterdir()} == FILES
    artifacts = built["bert_trt"].manifest["artifacts"]
    for path in folder.iterdir():
        record = artifacts[f"bert-trt/1/{path.name}"]
        assert (record["sha256"], record["size"]) == (file_digest(path), path.stat().st_size)
        assert record["random"] is False
    gate, model = json.loads((folder / "model.gate.json").read_text()), artifacts["bert-trt/1/model.onnx"]
    assert model["facts"]["weights"] == "mapped"
    assert model["facts"]["opset"] == 17  # the maker's own facts stay
    assert gate["onnxruntime"] == model["facts"]["onnxruntime"] == ort.__version__
    assert gate["instruction_sets"] == list(model["made_from"]["weights"]["options"]["instruction_sets"])


def test_only_engines_on_the_cpu_map_weights(places: Places) -> None:
    """NVIDIA's images have no OpenVINO."""
    assert derivations(plan_build(places.ensembles / "dali_inception", gpu("25.03"))) == {}


def test_openvino_loads_its_own_format(built: dict[str, Built]) -> None:
    """Otherwise each load would convert the frozen graph again, and keep a copy of its weights."""
    step = built["dali_inception"].repository / "dali_inception.inception_graphdef"
    assert read_config(step / "config.pbtxt").default_model_filename == "model.xml"
    assert {path.name for path in (step / "1").iterdir()} == {"model.xml", "model.bin"}
    artifacts = built["dali_inception"].manifest["artifacts"]
    assert {f"inception_graphdef/1/{name}" for name in ("model.xml", "model.bin")} <= artifacts.keys()
    assert "inception_graphdef/1/model.graphdef" not in artifacts


def test_another_level_of_optimization_makes_other_files(places: Places) -> None:
    """Otherwise the config's field would be overruled by the file."""
    plan = plan_build(places.ensembles / "bert_trt", CPU)
    before = digest_of_inputs(plan, None)
    plan.configs["bert-trt"].optimization.graph.level = -1
    assert derivations(plan)["bert-trt"].options["level"] == -1
    assert digest_of_inputs(plan, None) != before


def test_damaged_weights_in_the_store_are_made_again(places: Places, tmp_path: Path) -> None:
    """Otherwise a build would put them into the archive."""
    model = tmp_path / "model.onnx"
    model.write_bytes(sentences())
    record = {"sha256": file_digest(model), "random": False, "made_from": {}, "facts": {}}
    plan, store = plan_build(places.ensembles / "bert_trt", CPU), Store(tmp_path / "store")
    said: list[str] = []

    def derive() -> dict[str, str]:
        made = map_weights(plan, {"bert-trt/1/model.onnx": MadeArtifact(model, record)}, store, said.append)
        return {path: file_digest(each.path) for path, each in made.items()}

    first = derive()
    assert set(first) == {f"bert-trt/1/{name}" for name in FILES}
    assert derive() == first
    (line,) = said
    assert line.startswith("bert-trt/1/model.onnx: mapped_weights, ") and "weights mapped" in line
    (weights,) = (tmp_path / "store").rglob("model.weights")
    with weights.open("r+b") as stream:
        stream.write(b"damage")
    assert derive() == first
    assert len(said) == 2


def test_a_small_model_stays_as_it_is(places: Places, tmp_path: Path) -> None:
    """Mapping it would save nothing, and make four files of one."""
    model = tmp_path / "model.onnx"
    model.write_bytes(embedding())
    made = {"bert-trt/1/model.onnx": MadeArtifact(model, {})}
    plan = plan_build(places.ensembles / "bert_trt", CPU)
    assert map_weights(plan, made, Store(tmp_path / "store"), print) == made
