"""ResNet-50: the architecture that torchvision's weights are for, and files with the same outputs."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from checkout import ROOT
from ensembles.resnet import accuracy
from pipelines.make_resnet50 import ResNet50, make
from triton_ensembles.artifacts import Job
from triton_ensembles.artifacts.onnx_export import TOLERANCE
from triton_ensembles.ground.errors import EnsembleError

pytestmark = pytest.mark.slow

WEIGHTS = "resnet50.pth"
DIFFERENCE = "relative_difference_to_torch"


def weights(seed: int) -> dict[str, torch.Tensor]:
    """The content of torchvision's file: all parameters and statistics, without the newer count of batches."""
    generator = torch.Generator().manual_seed(seed)
    found = {}
    for name, value in ResNet50().state_dict().items():
        if name.endswith("num_batches_tracked"):
            continue
        if value.dim() > 1:
            found[name] = torch.randn(value.shape, generator=generator) / value[0].numel() ** 0.5
        else:  # of batch normalisation and fc: near 1 for scales and variances, near 0 for the rest
            around = 1.0 if name.endswith(("running_var", "weight")) else 0.0
            found[name] = around + 0.2 * torch.rand(value.shape, generator=generator)
    return found


def job(folder: Path, content: object) -> Job:
    if isinstance(content, bytes):
        (folder / WEIGHTS).write_bytes(content)
    else:
        torch.save(content, folder / WEIGHTS)
    return Job(folder / "model.pt", {WEIGHTS: folder / WEIGHTS}, WEIGHTS, {}, "cpu", "")


def test_it_has_the_names_and_the_size_of_torchvisions() -> None:
    """Otherwise the pretrained weights would not load. 25557032 is the number on torchvision's page."""
    model = ResNet50()
    assert sum(value.numel() for value in model.parameters()) == 25557032
    names = set(model.state_dict())
    assert {"conv1.weight", "bn1.running_mean", "fc.bias", "layer4.2.bn3.weight"} <= names
    assert {name for name in names if "downsample" in name and name.endswith("weight")} == {
        f"layer{stage}.0.downsample.{part}.weight" for stage in (1, 2, 3, 4) for part in (0, 1)
    }
    assert len([name for name in names if not name.endswith("num_batches_tracked")]) == 267  # as in the file
    strides = {stage: model.get_submodule(f"layer{stage}.0.conv2").stride for stage in (1, 2, 3, 4)}
    assert strides == {1: (1, 1), 2: (2, 2), 3: (2, 2), 4: (2, 2)}  # v1.5


def test_weights_come_out_as_torchscript_and_onnx_that_answer_the_same(tmp_path: Path) -> None:
    """Otherwise the pretrained ensemble would give other answers than torchvision's network."""
    given = weights(1)
    facts = make(job(tmp_path, given))
    assert float(facts[DIFFERENCE]) < TOLERANCE
    eager = ResNet50().eval()
    eager.load_state_dict(given)
    script = torch.jit.load(tmp_path / "model.pt")
    facts = make(replace(job(tmp_path, given), output=tmp_path / "model.onnx"))
    assert float(facts[DIFFERENCE]) < TOLERANCE
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    for rows in (1, 3):
        images = torch.randn((rows, 3, 224, 224), generator=torch.Generator().manual_seed(rows))
        with torch.inference_mode():
            expected, found = eager(images), script(images)
        for answer in (found, torch.from_numpy(session.run(["output"], {"input": images.numpy()})[0])):
            torch.testing.assert_close(answer, expected, rtol=0, atol=1e-4 * float(expected.abs().max()))
            assert answer.shape == (rows, 1000)


def test_its_accuracy_is_measured_on_photographs_and_too_low_a_one_is_refused(tmp_path: Path) -> None:
    options = {"seed": 5, "blocks": (1, 1, 1, 1)}
    make(Job(tmp_path / "model.onnx", {}, None, options, "", ""))
    (tmp_path / "job.json").write_text(json.dumps({"files": {}, "precision": "fp32", "options": {}}))
    command = [sys.executable, ROOT / "ensembles" / "resnet" / "accuracy.py", tmp_path / "model.onnx"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    printed = subprocess.run([*command, tmp_path / "job.json"], check=True, env=environment, capture_output=True)
    facts = json.loads(printed.stdout.splitlines()[-1])
    assert (facts["least_cosine_to_fp32"], facts["photographs"]) == (1.0, 12)
    logits = np.random.default_rng(0).standard_normal((2, 1000)).astype(np.float32)
    with pytest.raises(EnsembleError, match="the lowest cosine to fp32 is"):
        accuracy.judge([logits], [logits + 1 * (np.arange(1000) < 500)])


@pytest.mark.parametrize(
    ("content", "reason"),
    [({"conv1.weight": torch.zeros(1)}, "Missing key"), ([1, 2], "to be dict-like"), (b"<html>not found</html>", "")],
)
def test_other_weights_are_refused_with_a_reason(tmp_path: Path, content: object, reason: str) -> None:
    with pytest.raises(EnsembleError, match=rf"resnet50\.pth does not contain the weights of a ResNet-50: .*{reason}"):
        make(job(tmp_path, content))


def test_the_same_seed_gives_the_same_bytes_wherever_they_are_made(tmp_path: Path) -> None:
    """Otherwise archives would differ from machine to machine, or contain paths of the machine that made them."""
    (tmp_path / "elsewhere").mkdir()
    copy = shutil.copy(ROOT / "pipelines" / "make_resnet50.py", tmp_path / "elsewhere")
    (tmp_path / "job.json").write_text(json.dumps({"files": {}, "file": None, "options": {"seed": 3}}))
    files = [tmp_path / "one.pt", tmp_path / "another.pt"]
    for file, script in zip(files, (ROOT / "pipelines" / "make_resnet50.py", copy), strict=True):
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, script, file, tmp_path / "job.json"], check=True, env=environment)
    assert files[0].read_bytes() == files[1].read_bytes()
    with zipfile.ZipFile(files[0]) as archive:
        text = b"".join(archive.read(name) for name in archive.namelist() if "/data/" not in name)
    assert b"resnet50.py" not in text and str(ROOT).encode() not in text
