"""What only a machine with a GPU can prove, proven there: make gpu-proof. The report is docs/gpu-proof.md.

* DALI decodes on the GPU ("mixed") inside the real tritonserver, against the CPU's own pixels;
* the PyTorch engine computes on the GPU inside the real tritonserver, against torch on the CPU;
* a TensorRT plan is built by whichever way is there, and judged against ONNX Runtime.

What the machine lacks is written down as such. Backends are this project's own, in the pip-only server: NVIDIA's image
is another proof.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.grpc as grpc

from benchmarks.examples import examples_of, photographs
from triton_ensembles.building.artifact_builder import Workshop
from triton_ensembles.building.model_selection import artifacts_for, choose_models
from triton_ensembles.building.recipe import Artifact, read_recipe
from triton_ensembles.building.staging import read_models, stage
from triton_ensembles.building.store import Store
from triton_ensembles.building.tensorrt_plans import settle_plans
from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import BUILD, ENSEMBLES, ROOT
from triton_ensembles.tensorrt.plan_builders import find_gpu
from triton_ensembles.triton.model_config import ModelInstanceGroup
from triton_ensembles.triton.server import TritonServer
from triton_ensembles.triton.targets import CPU, Target, gpu

REPORT = ROOT / "docs" / "gpu-proof.md"
PROOF = replace(
    CPU,
    name="gpu-proof",
    instance_kind=ModelInstanceGroup.KIND_GPU,
    dali_device="mixed",
    chooses_engines=False,
    pads_batches=False,
)
LEAST_LIKE = 2.0  # steps of 255 by which decoded pixels may differ on average: nvJPEG rounds otherwise than libjpeg
LOGITS = 1e-2  # of the largest logit: convolutions on a GPU compute in TF32
RELEASE = "24.10"  # for the profiles and the environment of the plan; any TensorRT will do here

Say = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """One line of the report. ``passed`` is None for what this machine cannot do."""

    what: str
    passed: bool | None
    seen: str


def decoding(target: Target, say: Say) -> Row:
    """Pixels of photographs out of the server, against those that DALI decodes on the CPU."""
    from pipelines.dali_pipe import HALF_RANGE, preprocess

    with served("dali_inception", "dali", target, say) as client:
        differences = []
        for path in photographs():
            image = path.read_bytes()
            given = grpc.InferInput("DALI_INPUT_0", [1, len(image)], "UINT8")
            given.set_data_from_numpy(np.frombuffer(image, np.uint8)[None])
            answer = client.infer("dali_inception.dali", [given]).as_numpy("DALI_OUTPUT_0")
            differences.append(np.abs(answer[0] - preprocess(image)) * HALF_RANGE)
    mean, worst = float(np.mean(differences)), float(np.max(differences))
    seen = f"{len(differences)} photographs: {mean:.3f} of 255 on average, {worst:.1f} at the most"
    return Row(f"DALI, {target.dali_device}, in tritonserver against the CPU", mean <= LEAST_LIKE, seen)


def network(target: Target, say: Say) -> Row:
    """Logits of photographs out of the server, against TorchScript on the CPU."""
    import torch

    what = f"ResNet-50 as TorchScript, {ModelInstanceGroup.Kind.Name(target.instance_kind)}, in tritonserver"
    if target.instance_kind == ModelInstanceGroup.KIND_GPU and not torch.cuda.is_available():
        return Row(what, None, f"torch {torch.__version__} has no CUDA here")
    images = np.stack([row["INPUT__0"] for row in examples_of("resnet_pytorch").rows()])
    with served("resnet_pytorch", "resnet", target, say) as client:
        given = grpc.InferInput("INPUT__0", list(images.shape), "FP32")
        given.set_data_from_numpy(images)
        found = client.infer("resnet_pytorch.resnet", [given]).as_numpy("OUTPUT__0")
    file = _workshop("resnet_pytorch", CPU, say).make(_model("resnet_pytorch", "resnet", CPU)).path
    with torch.inference_mode():
        expected = torch.jit.load(file, map_location="cpu")(torch.from_numpy(images)).numpy()
    worst = float(np.abs(found - expected).max() / np.abs(expected).max())
    return Row(
        f"{what} against the CPU", worst <= LOGITS, f"{len(images)} photographs: {worst:.1e} of the largest logit"
    )


def plan(target: Target, say: Say) -> Row:
    """The plan of bert_trt, built here and judged against ONNX Runtime."""
    artifact = _model("bert_trt", "bert-trt", target)
    what = "a TensorRT plan of all-MiniLM-L6-v2 against ONNX Runtime"
    try:
        plans = settle_plans("bert_trt", [artifact], target, None, say)
    except EnsembleError as error:
        return Row(what, None, error.message)
    facts = replace(_workshop("bert_trt", target, say), plans=plans).make(artifact).record["facts"]
    seen = f"TensorRT {facts['tensorrt']}, {facts['precision']}, profiles {', '.join(facts['profiles'])}: least cosine "
    return Row(what, True, f"{seen}{facts['least_cosine_to_fp32']} on {facts['sentences']} sentences")


@contextmanager
def served(name: str, step: str, target: Target, say: Say) -> Iterator[Any]:
    """One step of an ensemble, staged for ``target`` and loaded alone in the real tritonserver; yields a client."""
    recipe = read_recipe(ENSEMBLES / name)
    chosen = choose_models(recipe, read_models(ENSEMBLES / name), target)
    workshop = _workshop(name, target, say)
    made = {each.path: workshop.make(each).path for each in artifacts_for(recipe, chosen) if each.step == step}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "models"
        stage(ENSEMBLES / name, place, name=name, recipe=recipe, target=target, artifacts=made, environments={})
        flags = ["--model-control-mode=explicit", f"--load-model={name}.{step}"]
        with TritonServer([place], arguments=flags) as server, grpc.InferenceServerClient(server.grpc_url) as client:
            yield client


def _workshop(name: str, target: Target, say: Say) -> Workshop:
    return Workshop(
        recipe=read_recipe(ENSEMBLES / name),
        target=target,
        store=Store(BUILD / "store"),
        downloads=BUILD / "downloads",
        progress=say,
        allow_random=True,
    )


def _model(name: str, step: str, target: Target) -> Artifact:
    return choose_models(read_recipe(ENSEMBLES / name), read_models(ENSEMBLES / name), target)[step].file


def report(machine: str, rows: list[Row]) -> str:
    """The page."""
    words = {True: "passed", False: "**FAILED**", None: "not here"}
    tools = ("nvidia-dali-cuda130", "torch", "onnxruntime")
    lines = [
        "# Seen on a GPU",
        "",
        f"Written by `make gpu-proof` on {datetime.now(UTC):%Y-%m-%d}, {machine}, tritonserver 2.51.0, "
        + ", ".join(f"{tool} {version(tool)}" for tool in tools)
        + ".",
        "",
        "| what | result | seen |",
        "|---|---|---|",
        *(f"| {row.what} | {words[row.passed]} | {row.seen} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    found = find_gpu()
    if found is None:
        print("there is no NVIDIA GPU here (nvidia-smi finds none), so there is nothing to prove", file=sys.stderr)
        return 1
    anything = gpu(RELEASE)
    anything = replace(anything, release=replace(anything.release, tensorrt=""))
    rows = [decoding(PROOF, print), network(PROOF, print), plan(anything, print)]
    REPORT.write_text(report(f"{found.name} (compute capability {found.compute_capability})", rows))
    print(REPORT.read_text())
    return 1 if any(row.passed is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
