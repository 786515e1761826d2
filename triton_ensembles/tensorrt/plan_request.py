"""What is needed to build one plan and to try it, in one folder, wherever TensorRT and the GPU are.

    NAME.onnx               the model
    NAME.order.json         precision, profiles, and the shapes and types of the inputs to try it with
    NAME.feedN.INPUT.bin    those inputs, one set for each profile N, as trtexec loads them
    NAME.sh                 builds with trtexec and runs the plan on them
    ------------------------ and what that leaves behind:
    NAME.plan               the plan
    NAME.log                TensorRT's version, the GPU, its compute capability
    NAME.outputN.json       what the plan answered to the inputs N
    NAME.timing.cache       makes the next build for the same GPU quick

Options of trtexec as of TensorRT 8.6 to 10 (samples/common/sampleOptions.cpp).
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.errors import EnsembleError
from triton_ensembles.tensorrt.profiles import Profile, fill, read_profile

Feed = Mapping[str, NDArray[Any]]
PRECISIONS = ("fp16", "fp32")

# The folders on PATH are where NVIDIA's images keep trtexec.
_SCRIPT = """#!/bin/sh
# Build {name}.plan and try it. Run this on the GPU that will serve it, with the TensorRT that will serve it.
set -eu
cd "$(dirname "$0")"
PATH="$PATH:/opt/tensorrt/bin:/usr/src/tensorrt/bin"
"""
_RUN = "{command} > {log} 2>&1 || {{ tail -n 5 {log} >&2; exit 1; }}\n"


@dataclass(frozen=True)
class Order:
    """One plan to build.

    Attributes:
        name: what its files are called, ``bert_trt.bert-trt``.
        inputs: dims of the model's inputs by name, -1 for axes that vary.
        feeds: inputs to try it with, one set for each profile.
    """

    name: str
    precision: str
    profiles: tuple[Profile, ...]
    inputs: Mapping[str, tuple[int, ...]]
    feeds: tuple[Feed, ...]

    def build_command(self) -> list[str]:
        """trtexec's, to be run in the folder."""
        command = ["trtexec", f"--onnx={self.name}.onnx", f"--saveEngine={self.name}.plan", "--skipInference"]
        command += [f"--timingCacheFile={self.name}.timing.cache"]
        command += ["--fp16"] if self.precision == "fp16" else []
        for number, profile in enumerate(self.profiles):
            command.append(f"--profile={number}")
            for option, sizes in (("min", profile.minimum), ("opt", profile.optimum), ("max", profile.maximum)):
                shapes = {tensor: fill(dims, sizes) for tensor, dims in self.inputs.items()}
                command.append(f"--{option}Shapes={_spec(shapes)}")
        return command

    def try_command(self, number: int) -> list[str]:
        """Run the plan on the feed of that number, with the profile of that number."""
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


def precision_of(options: Mapping[str, Any]) -> str:
    """The precision among an artifact's options. Raises :class:`EnsembleError` for one that there is not."""
    precision = str(options.get("precision", PRECISIONS[0]))
    if precision not in PRECISIONS:
        raise EnsembleError(f"a plan's precision is {' or '.join(PRECISIONS)}, not {precision!r}")
    return precision


def _spec(shapes: Mapping[str, Sequence[int]]) -> str:
    return ",".join(f"{tensor}:{'x'.join(map(str, sizes))}" for tensor, sizes in shapes.items())


def write_order(order: Order, onnx: Path, folder: Path) -> Path:
    """Write the folder's first half, and give the path of the script."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(onnx, folder / f"{order.name}.onnx")
    for number, feed in enumerate(order.feeds):
        for tensor, array in feed.items():
            np.ascontiguousarray(array).tofile(folder / order.feed_file(number, tensor))
    about = {
        "name": order.name,
        "precision": order.precision,
        "profiles": [str(profile) for profile in order.profiles],
        "inputs": order.inputs,
        "feeds": [
            {tensor: {"shape": array.shape, "dtype": array.dtype.name} for tensor, array in feed.items()}
            for feed in order.feeds
        ],
    }
    (folder / f"{order.name}.order.json").write_text(json.dumps(about, indent=2) + "\n")
    commands = {"log": order.build_command()}
    commands |= {f"try{number}.log": order.try_command(number) for number in range(len(order.feeds))}
    text = _SCRIPT.format(name=order.name)
    for log, command in commands.items():
        text += _RUN.format(command=shlex.join(command), log=shlex.quote(f"{order.name}.{log}"))
    script = folder / f"{order.name}.sh"
    script.write_text(text)
    script.chmod(0o755)
    return script


def read_order(folder: Path, name: str) -> Order:
    """The order that was written. Raises OSError, ValueError or KeyError when it is damaged."""
    about = json.loads((folder / f"{name}.order.json").read_text())
    order = Order(
        name=about["name"],
        precision=about["precision"],
        profiles=tuple(read_profile(text) for text in about["profiles"]),
        inputs={tensor: tuple(dims) for tensor, dims in about["inputs"].items()},
        feeds=tuple(
            {tensor: np.empty(facts["shape"], facts["dtype"]) for tensor, facts in feed.items()}
            for feed in about["feeds"]
        ),
    )
    for number, feed in enumerate(order.feeds):
        for tensor, array in feed.items():
            array[...] = np.fromfile(folder / order.feed_file(number, tensor), array.dtype).reshape(array.shape)
    return order
