"""The input that perf_analyzer sends: the ensemble's example requests, a file of the user's, or random data.

The file format is perf_analyzer's ``{"data": [{INPUT: {"b64": …, "shape": […]}}, …]}``, one entry a request, without
the batch axis. Measured on the perf_analyzer of tritonclient 2.50.0: entries of one file may differ in shape as long as
a request holds one of them; ``-b 2`` and more "can not batch tensors with different shapes together", but repeats a
single entry. "b64" is the tensor as KServe v2 sends it in binary: strings have their lengths before them.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tritonclient.utils import np_to_triton_dtype, serialize_byte_tensor

from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.files import read_json
from triton_ensembles.project.examples.folder import Examples
from triton_ensembles.project.examples.request import Array

_MOST_SHAPES = 4
_LARGEST = 32 << 20  # bytes, all of which perf_analyzer keeps in memory; rows are repeated
_FORMAT = 'perf_analyzer takes {"data": [{"INPUT": [value, …]}, …]}, or a folder with a file for each input'


@dataclass(frozen=True)
class UserInputs:
    """The input that the user wants sent instead of the ensemble's example requests.

    Attributes:
        data: a file or folder as perf_analyzer's --input-data takes it; None: the examples, or random data.
        shapes: ``NAME:3,224,224``, for inputs of variable size that get random data; without the batch axis.
    """

    data: Path | None = None
    shapes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.data or self.shapes)


@dataclass(frozen=True)
class Inputs:
    """perf_analyzer's arguments for the input, how many different requests there are, and what they are in words."""

    arguments: tuple[str, ...]
    entries: int
    about: str


def inputs_for(config: Mapping[str, Any], examples: Examples, batch: int, folder: Path, user: UserInputs) -> Inputs:
    """The input of the model with this configuration (the JSON of ``/v2/models/NAME/config``).

    Args:
        batch: rows in a request.
        folder: where the file for perf_analyzer is written.

    Raises:
        EnsembleError: random data is all there is, and the shape of an input is not known.
    """
    shapes = tuple(word for shape in user.shapes for word in ("--shape", shape))
    if user.data is not None:
        return Inputs(("--input-data", str(user.data.resolve()), *shapes), 1, shown(user.data))
    rows = [] if user.shapes else list(examples.rows())
    if not rows:
        _refuse_unknown_sizes(config, user.shapes)
        about = ("random data", *user.shapes) if user.shapes else ("random data", "for want of example requests")
        return Inputs(shapes, 1, ", ".join(about))
    if batch > 1 and len({tuple(values.shape for values in row.values()) for row in rows}) > 1:
        rows = rows[:1]
    path = folder / f"{config['name']}.json"
    entries = [{name: _entry(values) for name, values in row.items()} for row in rows]
    path.write_text(json.dumps({"data": entries}), encoding="utf-8")
    return Inputs(("--input-data", str(path.resolve())), len(rows), _about(rows))


def refuse_unreadable(data: Path) -> None:
    """Refuse a file that perf_analyzer would crash on, or fill the memory with.
    Raises :class:`EnsembleError`: it is too long, or not JSON of this format."""
    if data.is_dir():
        return
    try:
        value = read_json(data, _LARGEST)
    except ValueError as error:
        raise EnsembleError(f"this cannot be read as JSON: {error}", path=data, cure=_FORMAT) from error
    if not isinstance(value, dict) or not isinstance(value.get("data"), list) or not value["data"]:
        raise EnsembleError("this JSON has no list of rows under 'data'", path=data, cure=_FORMAT)


def _entry(values: Array) -> dict[str, Any]:
    content = serialize_byte_tensor(values).item() if values.dtype == np.object_ else values.tobytes()
    return {"b64": base64.b64encode(content).decode("ascii"), "shape": list(values.shape)}


def _about(rows: Sequence[Mapping[str, Array]]) -> str:
    """``98 example rows: INPUT0 BYTES [1], 44 to 343 bytes, median 127``."""
    words = []
    for name in rows[0]:
        arrays = [row[name] for row in rows]
        shapes = list(dict.fromkeys(str(list(values.shape)) for values in arrays))
        few = [*shapes[:_MOST_SHAPES], "…"] if len(shapes) > _MOST_SHAPES else shapes
        words.append(f"{name} {np_to_triton_dtype(arrays[0].dtype)} {', '.join(few)}")
        if arrays[0].dtype == np.object_:
            sizes = sorted(sum(map(len, values.reshape(-1))) for values in arrays)
            words[-1] += f" of {sizes[0]} to {sizes[-1]} bytes, median {sizes[len(sizes) // 2]}"
    return f"{len(rows)} example row{'s' if len(rows) > 1 else ''}: {'; '.join(words)}"


def _refuse_unknown_sizes(config: Mapping[str, Any], shapes: tuple[str, ...]) -> None:
    known = {shape.partition(":")[0] for shape in shapes}
    for tensor in config["input"]:
        if any(int(size) < 0 for size in tensor["dims"]) and tensor["name"] not in known:
            raise EnsembleError(
                f"the data for {config['name']} is random, and the size of {tensor['name']} is variable",
                cure=f"write examples, give real input with --input-data FILE, or a shape for random data with "
                f"--shape {tensor['name']}:{','.join(['8'] * len(tensor['dims']))}",
            )
