"""What perf_analyzer sends: real sentences, real photographs, a file of the user's, or random data of stated shapes.

The file format is perf_analyzer's ``{"data": [{INPUT: {"content" | "b64": …, "shape": […]}}, …]}``, one entry a
request, without the batch axis. Measured on the perf_analyzer of tritonclient 2.50.0: entries of one file may differ in
shape as long as a request holds one of them; ``-b 2`` and more "can not batch tensors with different shapes together",
but repeats a single entry. A STRING input takes UTF-8 text in "content"; raw bytes of any other type go into "b64".
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton_ensembles.errors import EnsembleError, shown
from triton_ensembles.examples.demo import photographs
from triton_ensembles.examples.imagenet import pixels

SENTENCES = Path(__file__).with_name("sentences.txt")


@dataclass(frozen=True)
class UserInputs:
    """What the user asks to send instead of the project's own input.

    Attributes:
        data: a file or folder as perf_analyzer's --input-data takes it; None: no such wish.
        shapes: ``NAME:3,224,224``, for inputs of variable size that get random data; without the batch axis.
    """

    data: Path | None = None
    shapes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inputs:
    """perf_analyzer's arguments for the input, how many different requests there are, and what they are in words."""

    arguments: tuple[str, ...]
    entries: int
    about: str


def inputs_for(config: Mapping[str, Any], batch: int, folder: Path, user: UserInputs) -> Inputs:
    """The input of the model with this configuration (the JSON of ``/v2/models/NAME/config``).

    Args:
        batch: rows in a request.
        folder: where the file for perf_analyzer is written.

    Raises:
        EnsembleError: random data is all there is, and the shape of an input is not known.
    """
    name = config["name"]
    if user.data is not None:
        return Inputs(_arguments(user.data, user.shapes), 1, shown(user.data))
    if name == "bert_trt":
        texts = sentences()
        words = sorted(len(text.split()) for text in texts)
        entries = [{"INPUT0": {"content": [text], "shape": [1]}} for text in texts]
        about = f"{len(texts)} English sentences of {words[0]} to {words[-1]} words, median {words[len(words) // 2]}"
        return _written(entries, about, folder / f"{name}.json")
    if name == "dali_inception":
        images = photographs() if batch == 1 else photographs()[:1]
        entries = [_raw("INPUT", path.read_bytes()) for path in images]
        sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e3:.0f} kB" for path in images)
        return _written(entries, f"photographs as JPEG bytes: {sizes}", folder / f"{name}.json")
    if name == "resnet_pytorch":
        images = photographs()
        arrays = [pixels(path.read_bytes()) for path in images]
        entries = [_raw("INPUT__0", array.tobytes(), array.shape) for array in arrays]
        about = f"photographs as {arrays[0].nbytes / 1e3:.0f} kB of pixels: {', '.join(path.name for path in images)}"
        return _written(entries, about, folder / f"{name}.json")
    return _random(config, user.shapes)


def sentences() -> list[str]:
    """The sentences of sentences.txt, whose head says where they come from."""
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _raw(name: str, content: bytes, shape: tuple[int, ...] = ()) -> dict[str, Any]:
    """A tensor's bytes; without a ``shape`` they are one axis of UINT8."""
    return {name: {"b64": base64.b64encode(content).decode("ascii"), "shape": list(shape) or [len(content)]}}


def _written(entries: Sequence[Mapping[str, Any]], about: str, path: Path) -> Inputs:
    path.write_text(json.dumps({"data": entries}), encoding="utf-8")
    return Inputs(_arguments(path, ()), len(entries), about)


def _random(config: Mapping[str, Any], shapes: tuple[str, ...]) -> Inputs:
    given = {shape.partition(":")[0] for shape in shapes}
    for tensor in config["input"]:
        if any(int(size) < 0 for size in tensor["dims"]) and tensor["name"] not in given:
            raise EnsembleError(
                f"perf has no input of its own for {config['name']}, and the size of {tensor['name']} is variable",
                cure=f"give real input with --input-data FILE, or a shape for random data with "
                f"--shape {tensor['name']}:{','.join(['8'] * len(tensor['dims']))}",
            )
    about = "random data" + "".join(f", {shape}" for shape in shapes)
    return Inputs(tuple(word for shape in shapes for word in ("--shape", shape)), 1, about)


def _arguments(data: Path, shapes: tuple[str, ...]) -> tuple[str, ...]:
    return ("--input-data", str(data.resolve()), *(word for shape in shapes for word in ("--shape", shape)))
