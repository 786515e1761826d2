"""The archive for a GPU, as far as a machine without one can test it: the checker, the real server's parser, and the
Python steps in the packed environment of the image's Python.
"""

import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest

from tests.artifacts.tensorrt.conftest import IMAGE
from tests.checking.served import ModelLoader
from tests.ensembles.clients import infer
from tests.places import borrowed, built_by
from tests.running import client_of
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places, Weights
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.fault import Severity
from triton_ensembles.server.home import find_home
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.model_config import ModelInstanceGroup, read_config
from triton_ensembles.triton.pip_server import STUB
from triton_ensembles.triton.targets import gpu

pytestmark = pytest.mark.slow

SENTENCES = ["Hi", "A cat sleeps on the sofa.", "word " * 300]


@pytest.fixture(scope="module")
def archive(
    built: dict[str, Built], places: Places, engines_once: Path, tmp_path_factory: pytest.TempPathFactory
) -> Built:
    mine = borrowed(places, tmp_path_factory.mktemp("gpu"), "downloads", "store")
    return built_by(mine, "bert_trt", gpu(IMAGE), weights=Weights("pretrained"), engines_from=engines_once)


@pytest.fixture(scope="module")
def repository(archive: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive unpacked, with the stub of the image's Python, which this server lacks."""
    folder = tmp_path_factory.mktemp("repository") / "model"
    with tarfile.open(archive.archive) as tar:
        tar.extractall(folder, filter="data")
    stub = find_home().stub(archive.manifest["environments"]["processing"]["python"])
    for step in ("preprocess", "postprocess"):
        shutil.copy2(stub, folder / f"bert_trt.{step}" / STUB)
    return folder


def test_the_archive_passes_check_for_its_image_and_instance(archive: Built) -> None:
    """Otherwise deploy would refuse it; for another GPU it must."""
    assert archive.archive.parent.name == "gpu"
    found = check([archive.archive], Destination("gpu", "ml.g5.xlarge", IMAGE)).faults
    assert [fault for fault in found if fault.severity is not Severity.NOTE] == []
    found = check([archive.archive], Destination("gpu", "ml.g4dn.xlarge", IMAGE)).faults
    assert [fault.rule for fault in found if fault.severity is Severity.ERROR] == ["plan-compute-capability"]
    facts = [archive.manifest[key] for key in ("target", "image", "triton", "weights")]
    assert facts == ["gpu", IMAGE, "2.51.0", "pretrained"]


def test_the_archive_has_the_plan_from_elsewhere_and_says_how_it_was_built(archive: Built, engines_once: Path) -> None:
    """Otherwise `check` could not say whether it will load on an instance, or nobody how accurate it is."""
    (plan,) = archive.repository.rglob("model.plan")
    assert plan.read_bytes() == (engines_once / "bert_trt.bert-trt.plan").read_bytes()
    record = archive.manifest["artifacts"]["bert-trt/1/model.plan"]
    facts = record["facts"]
    assert (facts["tensorrt"], facts["gpu"], facts["compute_capability"]) == ("10.5.0", "NVIDIA A10G", "8.6")
    assert facts["profiles"] == ["1x8 1x16 1x256", "1x8 64x32 64x256"]
    assert facts["precision"] == "fp16" and "--fp16" in facts["built_by"]
    assert "--maxShapes=token_ids:64x256,attn_mask:64x256" in facts["built_by"]
    assert facts["least_cosine_to_fp32"] >= 0.9995
    assert not [value for value in record["made_from"]["options"].values() if str(engines_once) in str(value)]


def test_the_config_of_the_plan_is_for_a_gpu_that_sagemaker_chooses(archive: Built) -> None:
    config = read_config(archive.repository / "bert_trt.bert-trt" / "config.pbtxt")
    assert config.platform == "tensorrt_plan"
    (group,) = config.instance_group
    assert (group.kind, list(group.gpus), list(group.profile)) == (ModelInstanceGroup.KIND_GPU, [], ["0", "1"])
    assert list(config.dynamic_batching.preferred_batch_size) == [64]
    assert [request.batch_size for request in config.model_warmup] == [1, 64]
    graphs = config.optimization.cuda.graph_spec
    assert [list(graph.input["token_ids"].dim) for graph in graphs] == [[8], [16], [24], [32]]
    # NVIDIA's TensorRT backend would string ragged rows together.
    assert not any(tensor.allow_ragged_batch for tensor in config.input)


def test_the_real_server_takes_every_config(repository: Path, tmp_path: Path) -> None:
    """Only the backend of NVIDIA's image is missing. An unknown field, or a contradiction in the DAG, would be another
    error."""
    with ModelLoader(repository, tmp_path) as judge:
        names = ["bert_trt.preprocess", "bert_trt.postprocess", "bert_trt.bert-trt", "bert_trt"]
        verdicts = {name: judge.load_surely(name) for name in names}
    for name in names[:2]:
        assert verdicts[name].loaded, verdicts[name].words
    for name in names[2:]:
        assert "unable to find backend library for backend 'tensorrt'" in verdicts[name].words


def test_requests_come_in_few_lengths_in_the_images_python(repository: Path, tmp_path: Path) -> None:
    """Otherwise TensorRT refuses short requests (profiles begin at 8 tokens) and seldom joins two of equal length."""
    flags = ["--model-control-mode=explicit", "--load-model=bert_trt.preprocess"]
    lengths = []
    with client_of(TritonServer([repository], log=tmp_path / "log", arguments=flags)) as client:
        for sentence in SENTENCES:
            answer = infer(client, "bert_trt.preprocess", {"INPUT0": np.array([[sentence.encode()]], object)})
            ids, mask = answer["OUTPUT0"], answer["OUTPUT1"]
            assert ids.shape == mask.shape and (ids[mask == 0] == 0).all()
            lengths.append((ids.shape[1], int(mask.sum())))
    assert lengths[0] == (8, 3) and lengths[2] == (256, 256)
    assert all(width % 8 == 0 and width - 8 < tokens <= width for width, tokens in lengths)


def test_a_second_build_does_nothing_and_another_plan_is_another_archive(
    archive: Built, places: Places, engines: Path
) -> None:
    dist, work = archive.archive.parents[1], archive.repository.parents[1]
    again = built_by(Places(places.ensembles, work, dist), "bert_trt", gpu(IMAGE), engines_from=engines)
    assert not again.changed
    log = engines / "bert_trt.bert-trt.log"
    text = log.read_text().replace("NVIDIA A10G", "NVIDIA A10")
    log.unlink()
    log.write_text(text)
    other = Places(places.ensembles, work, dist.with_name("other"))
    changed = built_by(other, "bert_trt", gpu(IMAGE), engines_from=engines)
    assert changed.changed
    assert changed.manifest["artifacts"]["bert-trt/1/model.plan"]["facts"]["gpu"] == "NVIDIA A10"
