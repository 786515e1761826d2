"""What only a machine with a GPU can prove; the same comparisons on the CPU prove the comparisons.

`make gpu-proof` runs the tests marked ``gpu``; what each records as ``seen`` is a property in reports/gpu.xml. Single
steps of the ensembles run in the pip-only server, with this project's own backends: NVIDIA's image is another proof.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import tritonclient.http as http
from click.testing import CliRunner

from benchmarks.examples import examples_of, photographs
from checkout import PLACES
from tests.ensembles.clients import infer
from tests.places import builder_of
from tests.running import client_of
from triton_ensembles.building.made.tensorrt_plans import find_plans
from triton_ensembles.building.packed.staging import stage
from triton_ensembles.commands.cli import main
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.model_config import ModelInstanceGroup
from triton_ensembles.triton.targets import CPU, Target, gpu

RELEASE = "24.10"  # for the profiles and the environment of the plan; any TensorRT will do here
ON_CPU = replace(CPU, name="cpu-proof", chooses_engines=False, pads_batches=False)
ON_GPU = replace(ON_CPU, name="gpu-proof", instance_kind=ModelInstanceGroup.KIND_GPU, dali_device="mixed")
NO_GPU = pytest.mark.skipif(not Path("/proc/driver/nvidia/gpus").is_dir(), reason="no NVIDIA GPU here")
Record = Callable[[str, object], None]
both_devices = pytest.mark.parametrize(
    "target", [pytest.param(ON_CPU, id="cpu"), pytest.param(ON_GPU, id="gpu", marks=[pytest.mark.gpu, NO_GPU])]
)


@contextmanager
def served(ensemble: str, step: str, target: Target) -> Iterator[http.InferenceServerClient]:
    """Serve one step, staged for ``target`` and loaded alone."""
    builder = builder_of(PLACES, ensemble, target)
    made = {each.path: builder.make(each).path for each in builder.plan.artifacts if each.step == step}
    with TemporaryDirectory() as scratch:
        place = Path(scratch) / "models"
        stage(builder.plan, place, artifacts=made, environments={})
        flags = ["--model-control-mode=explicit", f"--load-model={ensemble}.{step}"]
        with client_of(TritonServer([place], arguments=flags)) as client:
            yield client


@both_devices
def test_dali_decodes_the_same_pixels_in_tritonserver(target: Target, record_property: Record) -> None:
    """Otherwise images decoded on that device are classified differently from those decoded on the CPU."""
    from pipelines.dali_pipe import HALF_RANGE, preprocess

    images = [path.read_bytes() for path in photographs()]
    differences = []
    with served("dali_inception", "dali", target) as client:
        for image in images:
            answer = infer(client, "dali_inception.dali", {"DALI_INPUT_0": np.frombuffer(image, np.uint8)[None]})
            differences.append(np.abs(answer["DALI_OUTPUT_0"][0] - preprocess(image)) * HALF_RANGE)
    mean, worst = float(np.mean(differences)), float(np.max(differences))
    record_property("seen", f"{len(images)} photographs: {mean:.3f} of 255 on average, {worst:.1f} at most")
    assert mean <= (2.0 if target is ON_GPU else 0.0)  # nvJPEG rounds differently from libjpeg


@both_devices
def test_resnet_computes_the_same_logits_in_tritonserver(target: Target, record_property: Record) -> None:
    """Otherwise the PyTorch backend computes something else on that device than torch on the CPU."""
    import torch

    if target is ON_GPU and not torch.cuda.is_available():
        pytest.skip(f"torch {torch.__version__} has no CUDA here")
    images = np.stack([row["INPUT__0"] for row in examples_of("resnet_pytorch").rows()])
    with served("resnet_pytorch", "resnet", target) as client:
        found = infer(client, "resnet_pytorch.resnet", {"INPUT__0": images})["OUTPUT__0"]
    builder = builder_of(PLACES, "resnet_pytorch")
    file = builder.make(builder.plan.selected["resnet"].file).path
    with torch.inference_mode():
        expected = torch.jit.load(file, map_location="cpu")(torch.from_numpy(images)).numpy()
    worst = float(np.abs(found - expected).max() / np.abs(expected).max())
    record_property("seen", f"{len(images)} photographs: differences up to {worst:.1e} of the largest logit")
    assert worst <= (1e-2 if target is ON_GPU else 1e-5)  # convolutions on a GPU compute in TF32


@pytest.mark.gpu
@NO_GPU
def test_a_tensorrt_plan_is_built_and_agrees_with_onnx_runtime(record_property: Record, tmp_path: Path) -> None:
    """Otherwise archives for the gpu target cannot be built, or embed texts differently."""
    if shutil.which("trtexec") is None:
        pytest.skip("no trtexec on PATH")
    target = gpu(RELEASE)
    target = replace(target, release=replace(target.release, tensorrt=""))
    builder = builder_of(PLACES, "bert_trt", target)
    artifact = builder.plan.selected["bert-trt"].file
    asked = CliRunner().invoke(main, ["engines", "bert_trt", "--image", RELEASE, "--output", str(tmp_path)])
    assert asked.exit_code == 0, asked.output
    subprocess.run([tmp_path / "bert_trt.bert-trt.sh"], check=True)
    plans = find_plans("bert_trt", [artifact], target, tmp_path)
    facts = replace(builder, plans=plans).make(artifact).record["facts"]  # fails below 0.9995
    record_property(
        "seen",
        f"TensorRT {facts['tensorrt']}, {facts['precision']}, profiles {', '.join(facts['profiles'])}: lowest cosine "
        f"{facts['least_cosine_to_fp32']} on {facts['sentences']} sentences",
    )
