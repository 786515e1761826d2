"""The three plan builders: TensorRT's Python package, trtexec on PATH, and NVIDIA's image in Docker; and the GPU.

The first one with the TensorRT of the target's image is taken: only the version that built a plan reads it.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.artifacts.tensorrt.plan_request import PlanRequest
from triton_ensembles.artifacts.tensorrt.profiles import fill
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.programs import ProgramError, output_of
from triton_ensembles.ground.progress import Progress
from triton_ensembles.triton.releases import agree

PYTHON, TRTEXEC, DOCKER = "tensorrt", "trtexec", "docker"
# trtexec's first line: "&&&& RUNNING TensorRT.trtexec [TensorRT v100400]" (8.6: v8603).
_BANNER = re.compile(r"\[TensorRT v(\d\d?)(\d\d?)(\d\d)\]")


@dataclass(frozen=True)
class Gpu:
    """``name`` as NVIDIA's driver reports it, "NVIDIA A10G"; ``compute_capability`` such as "8.6"."""

    name: str
    compute_capability: str


@dataclass(frozen=True)
class PlanBuilder:
    """A program that builds plans."""

    name: str  # PYTHON, TRTEXEC or DOCKER
    tensorrt: str  # its version; "" for Docker
    image: str = ""  # the image that Docker runs; "" for the others


def docker_image(release: str) -> str:
    """NVIDIA's image of Triton: it has trtexec and exactly the TensorRT that will read the plan. That of
    tensorrt:RELEASE-py3 can differ: 23.05 has 8.6.1.6 there and 8.6.1.2 here (server issue #5975)."""
    return f"nvcr.io/nvidia/tritonserver:{release}-py3"


def find_gpu() -> Gpu | None:
    """The first GPU that nvidia-smi lists; None when there is no GPU or no driver."""
    listed = _output(["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"]) or ""
    name, comma, capability = listed.partition("\n")[0].rpartition(",")
    return Gpu(name.strip(), capability.strip()) if comma else None


def find_plan_builder(release: str, tensorrt: str, progress: Progress) -> PlanBuilder | None:
    """The first plan builder here with the TensorRT of Triton's ``release`` ("24.09"); with any if that is ""."""
    for builder in _plan_builders(release):
        if builder.name == DOCKER or not tensorrt or agree(builder.tensorrt, tensorrt):
            return builder
        progress(f"{builder.name} on this machine has TensorRT {builder.tensorrt}, and Triton {release} has {tensorrt}")
    return None


def run_script(builder: PlanBuilder, script: Path) -> None:
    """Run the script of a plan request with trtexec, here or in Docker. Raises :class:`EnsembleError`: it fails."""
    command: list[str | Path] = ["sh", script]
    if builder.name == DOCKER:
        user = f"{os.getuid()}:{os.getgid()}"
        command = ["docker", "run", "--rm", "--gpus", "all", "--user", user, "--volume", f"{script.parent}:/engines"]
        command += [builder.image, "sh", f"/engines/{script.name}"]
    try:
        output_of(command, environment=os.environ)
    except ProgramError as error:
        raise EnsembleError(f"{builder.name} exited with {error.code}: {error.last_line}") from error


def build_with_api(request: PlanRequest, folder: Path, gpu: Gpu) -> None:
    """Write NAME.plan, NAME.log, NAME.outputN.json and NAME.timing.cache into the request's folder."""
    import tensorrt
    from polygraphy.backend import trt

    profiles = []
    for shapes in request.profiles:
        profile = trt.Profile()
        for tensor, dims in request.inputs.items():
            profile.add(tensor, *(fill(dims, sizes) for sizes in (shapes.minimum, shapes.optimum, shapes.maximum)))
        profiles.append(profile)
    cache = folder / f"{request.name}.timing.cache"
    known = str(cache) if cache.is_file() else None
    types = [] if request.strongly_typed else request.precision.split("+")
    flags = {name: True for name in types if name != "fp32"} | {"tf32": request.precision != "fp32"}  # as trtexec
    config = trt.CreateConfig(**flags, profiles=profiles, load_timing_cache=known)
    network = trt.network_from_onnx_path(str(folder / f"{request.name}.onnx"))
    engine = trt.engine_from_network(network, config=config, save_timing_cache=str(cache))
    trt.save_engine(engine, str(folder / f"{request.name}.plan"))
    (folder / f"{request.name}.log").write_text(
        f"TensorRT version: {tensorrt.__version__}\nSelected Device: {gpu.name}\n"
        f"Compute Capability: {gpu.compute_capability}\n"
    )
    for number, feed in enumerate(request.feeds):
        with trt.TrtRunner(engine, optimization_profile=number) as runner:
            outputs = runner.infer(dict(feed))
        exported = []
        for name, array in outputs.items():
            dimensions = "x".join(map(str, array.shape))
            exported.append({"name": name, "dimensions": dimensions, "values": array.ravel().tolist()})
        (folder / f"{request.name}.output{number}.json").write_text(json.dumps(exported))


def _plan_builders(release: str) -> Iterator[PlanBuilder]:
    if importlib.util.find_spec("tensorrt") and importlib.util.find_spec("polygraphy"):
        tensorrt = _output([sys.executable, "-c", "import tensorrt; print(tensorrt.__version__)"])
        if tensorrt is not None:
            yield PlanBuilder(PYTHON, tensorrt.strip())
    if shutil.which("trtexec"):
        tensorrt = banner_version(_output(["trtexec", "--help"]) or "")
        if tensorrt:
            yield PlanBuilder(TRTEXEC, tensorrt)
    # `docker info` needs a running engine; the program alone is not enough.
    if shutil.which("docker") and "nvidia" in (_output(["docker", "info", "--format", "{{.Runtimes}}"]) or ""):
        yield PlanBuilder(DOCKER, "", docker_image(release))


def banner_version(text: str) -> str:
    """The version in trtexec's banner, such as "10.4.0"; "" when there is no banner."""
    match = _BANNER.search(text)
    return ".".join(str(int(part)) for part in match.groups()) if match else ""


def _output(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if not done.returncode or "TensorRT v" in done.stdout else None
