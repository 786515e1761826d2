"""A request to build and run one TensorRT plan, and the plan that was built from it.

The files to take to a machine with TensorRT and the GPU::

    NAME.onnx               the model
    NAME.request.json       precision, profiles, and the shapes and types of the test inputs
    NAME.feedN.INPUT.bin    the test inputs, one set for each profile N, as trtexec loads them
    NAME.sh                 builds the plan with trtexec and runs it on the test inputs
    ------------------------ which writes:
    NAME.plan               the plan
    NAME.log                TensorRT's version, the GPU, its compute capability
    NAME.outputN.json       the plan's outputs for the inputs N
    NAME.timing.cache       speeds up the next run of the script

Options of trtexec as of TensorRT 8.6 to 11 (samples/common/sampleOptions.cpp).
"""

import json
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.artifacts.tensorrt.profiles import Profile, fill, read_profile
from triton_ensembles.artifacts.tensorrt.symmetric import make_symmetric
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.plan_precision import FLAGS

Feed = Mapping[str, NDArray[Any]]

# The folders on PATH are where NVIDIA's images keep trtexec.
_SCRIPT = """#!/bin/sh
# Build {name}.plan and run it. Use the GPU that will serve it, and the TensorRT that will serve it.
set -eu
cd "$(dirname "$0")"
PATH="$PATH:/opt/tensorrt/bin:/usr/src/tensorrt/bin"
{build} > {log} 2>&1 || {{ tail -n 5 {log} >&2; exit 1; }}
"""
_RUN = "{run} > {log} 2>&1 || {{ tail -n 5 {log} >&2; exit 1; }}\n"
# What trtexec prints of itself and of the device (sampleDevice.cpp, trtexec.cpp).
_FACTS = {
    "tensorrt": re.compile(r"TensorRT version: *([\d.]+)"),
    "gpu": re.compile(r"Selected Device: *(.+?) *$", re.MULTILINE),
    "compute_capability": re.compile(r"Compute Capability: *(\d+\.\d+)"),
}


@dataclass(frozen=True)
class PlanRequest:
    """A plan to build."""

    name: str  # the beginning of its files' names, `bert_trt.bert-trt`
    precision: str  # "fp16", or another of plan_precision.py
    profiles: tuple[Profile, ...]  # the shapes to build it for
    inputs: Mapping[str, tuple[int, ...]]  # dims of the model's inputs by name, -1 for axes that vary
    feeds: tuple[Feed, ...]  # test inputs by name, one set for each profile
    strongly_typed: bool = False  # for TensorRT 11, which takes the types of the ONNX file

    def build_command(self) -> list[str]:
        """The command of trtexec that builds the plan, run in the folder."""
        command = ["trtexec", f"--onnx={self.name}.onnx", f"--saveEngine={self.name}.plan", "--skipInference"]
        command += [f"--timingCacheFile={self.name}.timing.cache"]
        flags = [FLAGS[name] for name in self.precision.split("+")]
        command += [flag for flag in flags if flag and not (self.strongly_typed and flag == "--int8")]
        for number, profile in enumerate(self.profiles):
            command.append(f"--profile={number}")
            for option, sizes in (("min", profile.minimum), ("opt", profile.optimum), ("max", profile.maximum)):
                shapes = {tensor: fill(dims, sizes) for tensor, dims in self.inputs.items()}
                command.append(f"--{option}Shapes={_spec(shapes)}")
        return command

    def run_command(self, number: int) -> list[str]:
        """The command of trtexec that runs the plan on feed ``number`` with profile ``number``."""
        feed = self.feeds[number]
        loads = ",".join(f"{tensor}:{self.feed_file(number, tensor)}" for tensor in feed)
        return [
            *("trtexec", f"--loadEngine={self.name}.plan", f"--useProfile={number}"),
            f"--shapes={_spec({tensor: array.shape for tensor, array in feed.items()})}",
            *(f"--loadInputs={loads}", f"--exportOutput={self.name}.output{number}.json"),
            *("--iterations=1", "--warmUp=0", "--duration=0"),
        ]

    def feed_file(self, number: int, tensor: str) -> str:
        return f"{self.name}.feed{number}.{tensor.replace('/', '_')}.bin"  # TensorFlow's names have slashes


def docker_image(release: str) -> str:
    """NVIDIA's image of Triton: it has trtexec and exactly the TensorRT that will read the plan. That of
    tensorrt:RELEASE-py3 can differ: 23.05 has 8.6.1.6 there and 8.6.1.2 here (server issue #5975)."""
    return f"nvcr.io/nvidia/tritonserver:{release}-py3"


def _spec(shapes: Mapping[str, Sequence[int]]) -> str:
    return ",".join(f"{tensor}:{'x'.join(map(str, sizes))}" for tensor, sizes in shapes.items())


def write_request(request: PlanRequest, onnx: Path, folder: Path) -> Path:
    """Write the files of a request for the model ``onnx`` into ``folder``. Returns the path of the script."""
    folder.mkdir(parents=True, exist_ok=True)
    if "int8" in request.precision:
        _write_symmetric(onnx, folder / f"{request.name}.onnx")
    else:
        shutil.copyfile(onnx, folder / f"{request.name}.onnx")
    for number, feed in enumerate(request.feeds):
        for tensor, array in feed.items():
            np.ascontiguousarray(array).tofile(folder / request.feed_file(number, tensor))
    about = {
        "name": request.name,
        "precision": request.precision,
        "strongly_typed": request.strongly_typed,
        "profiles": [str(profile) for profile in request.profiles],
        "inputs": request.inputs,
        "feeds": [
            {tensor: {"shape": array.shape, "dtype": array.dtype.name} for tensor, array in feed.items()}
            for feed in request.feeds
        ],
    }
    (folder / f"{request.name}.request.json").write_text(json.dumps(about, indent=2) + "\n")
    log = shlex.quote(f"{request.name}.log")
    text = _SCRIPT.format(name=request.name, build=shlex.join(request.build_command()), log=log)
    for number in range(len(request.feeds)):
        log = shlex.quote(f"{request.name}.run{number}.log")
        text += _RUN.format(run=shlex.join(request.run_command(number)), log=log)
    script = folder / f"{request.name}.sh"
    script.write_text(text)
    script.chmod(0o755)
    return script


def _write_symmetric(source: Path, path: Path) -> None:
    import onnx

    model = onnx.load(source)
    make_symmetric(model)
    onnx.save(model, path)


def read_request(folder: Path, name: str) -> PlanRequest:
    """Read a request. Raises OSError, ValueError or KeyError when it is damaged."""
    about = json.loads((folder / f"{name}.request.json").read_text())
    request = PlanRequest(
        name=about["name"],
        precision=about["precision"],
        profiles=tuple(read_profile(text) for text in about["profiles"]),
        inputs={tensor: tuple(dims) for tensor, dims in about["inputs"].items()},
        feeds=tuple(
            {tensor: np.empty(facts["shape"], facts["dtype"]) for tensor, facts in feed.items()}
            for feed in about["feeds"]
        ),
        strongly_typed=about.get("strongly_typed", False),
    )
    for number, feed in enumerate(request.feeds):
        for tensor, array in feed.items():
            array[...] = np.fromfile(folder / request.feed_file(number, tensor), array.dtype).reshape(array.shape)
    return request


@dataclass(frozen=True)
class BuiltPlan:
    """A built plan."""

    plan: Path
    request: PlanRequest  # what it was built from
    tensorrt: str  # the version that built it, "10.4.0"
    gpu: str  # the GPU that built it, "NVIDIA A10G"
    compute_capability: str  # of that GPU, "8.6"
    # for each feed of the request, the model's outputs FP32 by name
    outputs: tuple[dict[str, NDArray[np.float32]], ...]

    def facts(self) -> dict[str, Any]:
        """For the manifest; ``check`` reads tensorrt and compute_capability."""
        return {
            "tensorrt": self.tensorrt,
            "gpu": self.gpu,
            "compute_capability": self.compute_capability,
            "precision": self.request.precision,
            "profiles": [str(profile) for profile in self.request.profiles],
        }


def read_plan(folder: Path, name: str) -> BuiltPlan:
    """Read the plan ``name`` in ``folder``. Raises :class:`EnsembleError` when a file of it is missing or damaged."""
    plan, log = folder / f"{name}.plan", folder / f"{name}.log"
    facts = read_log(log)
    if not plan.is_file() or not plan.stat().st_size:
        message = "this plan does not exist"
        raise EnsembleError(message, path=plan, cure=f"run {name}.sh on a machine with TensorRT and the GPU")
    try:
        request = read_request(folder, name)
        outputs = tuple(_outputs(folder / f"{name}.output{number}.json") for number in range(len(request.feeds)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"the outputs of {name}.plan cannot be read, so its accuracy is unknown: {error}"
        raise EnsembleError(message, path=folder, cure=f"run {name}.sh again, to its end") from error
    return BuiltPlan(plan, request, **facts, outputs=outputs)


def read_log(path: Path) -> dict[str, str]:
    """TensorRT's version, the GPU's name and its compute capability in a log of trtexec. Raises :class:`EnsembleError`:
    the log cannot be read, or lacks one of them."""
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        message = f"this log of trtexec cannot be read ({error.strerror}), so the plan's GPU and TensorRT are unknown"
        cure = "build the plan with the script that the command engines writes"
        raise EnsembleError(message, path=path, cure=cure) from error
    facts = {name: pattern.search(text) for name, pattern in _FACTS.items()}
    missing = [name for name, match in facts.items() if match is None]
    if missing:
        message = f"this log of trtexec does not state {' and '.join(missing)}"
        raise EnsembleError(message, path=path, cure="build the plan again")
    return {name: match[1] for name, match in facts.items() if match is not None}


def _outputs(path: Path) -> dict[str, NDArray[np.float32]]:
    """trtexec --exportOutput: [{"name": "output", "dimensions": "1x16x384", "values": [...]}, ...]."""
    tensors = {}
    for tensor in json.loads(path.read_text()):
        shape = [int(size) for size in str(tensor["dimensions"]).split("x")]
        tensors[str(tensor["name"])] = np.array(tensor["values"], np.float32).reshape(shape)
    return tensors
