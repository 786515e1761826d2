"""An int8 copy of an ONNX file, with QuantizeLinear and DequantizeLinear nodes, which OpenVINO and TensorRT compute in.

NNCF quantizes it after training: weights for each channel, activations by the ranges that they have on calibration
data; SmoothQuant for transformers, whose activations have outliers (arXiv 2211.10438). ONNX Runtime's own quantization
lost 0.19 of the mean cosine of MiniLM, and its dynamic one makes an answer depend on the rest of its batch.

Options of the recipe:

* ``calibration``: a file of the project with data like those that will be served: ``.txt``, a text a line, for a model
  of ``token_ids`` and ``attn_mask`` whose source has tokenizer.json; ``.npz``, an array [rows, ...] for each input; or
  ``.py``, a script with ``feeds(files)``, which returns the inputs of each run as {name: array}
* ``transformer``: true for attention networks
* ``leave_out``: regular expressions of the names of nodes that stay in fp32
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.artifacts import Facts, Job, load_script
from triton_ensembles.artifacts.accuracy_on_sentences import texts_in, tokenized
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.artifact_kinds import CALIBRATION

TOOLS = ("nncf", "onnx", "onnxruntime", "tokenizers")
READS = ("artifacts/accuracy.py", "artifacts/accuracy_on_sentences.py")
LEAST_OPSET = 13  # QuantizeLinear has an axis since then: a scale for each channel

Feed = Mapping[str, NDArray[Any]]


def make(job: Job) -> Facts:
    """Write the quantized model. Raises :class:`EnsembleError`: the calibration data do not fit the model's inputs, or
    there is nothing in the model that can be quantized."""
    import nncf
    import onnx

    file, options = job.source_file(), job.options
    model = onnx.load(file)
    opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
    if opset < LEAST_OPSET:
        cure = f"export it with opset {LEAST_OPSET} or newer"
        raise EnsembleError(f"int8 needs ONNX's opset {LEAST_OPSET}, and {file.name} has {opset}", cure=cure)
    if _quantized(model):
        raise EnsembleError(
            f"{file.name} is quantized: it has QuantizeLinear nodes", cure="name the fp32 file in needs"
        )
    feeds = _calibration(job)
    check_feeds(feeds, model, str(options[CALIBRATION]))
    transformer = bool(options.get("transformer", False))
    try:
        quantized = nncf.quantize(
            model,
            nncf.Dataset(feeds),
            subset_size=len(feeds),
            model_type=nncf.ModelType.TRANSFORMER if transformer else None,
            preset=nncf.QuantizationPreset.MIXED if transformer else nncf.QuantizationPreset.PERFORMANCE,
            ignored_scope=nncf.IgnoredScope(patterns=list(options.get("leave_out", ()))),
        )
    except (nncf.ValidationError, ValueError) as error:  # a pattern that no node has, or inputs of no range
        raise EnsembleError(f"NNCF does not quantize {file.name}: {' '.join(str(error).split())}") from error
    nodes = _quantized(quantized)
    if not nodes:
        cure = 'write precision = "fp32" or "bf16"'
        raise EnsembleError(f"no operator of {file.name} can be computed in int8", cure=cure)
    onnx.save(quantized, job.output)
    return {"calibrated_on": len(feeds), "quantized_tensors": nodes, "fp32_bytes": file.stat().st_size}


def _quantized(model: Any) -> int:
    return sum(node.op_type in ("QuantizeLinear", "DynamicQuantizeLinear") for node in model.graph.node)


def _calibration(job: Job) -> list[Feed]:
    """The inputs of each run. Raises :class:`EnsembleError`: the file is missing, of another kind, or lacks them."""
    path = job.root / str(job.options[CALIBRATION])
    if not path.is_file():
        raise EnsembleError("this file of calibration data does not exist", path=path)
    if path.suffix == ".txt":
        if "tokenizer.json" not in job.files:
            cure = "name a source that has it, or give the model's inputs as .npz or by a script"
            raise EnsembleError("calibration with texts needs tokenizer.json, which the artifact lacks", cure=cure)
        return [tokenized([text], job.files["tokenizer.json"]) for text in texts_in(path)]
    if path.suffix == ".npz":
        return _rows(path)
    if path.suffix == ".py":
        return list(load_script(path).feeds(job.files))
    raise EnsembleError("calibration data are a .txt of texts, an .npz of arrays, or a script .py", path=path)


def _rows(path: Path) -> list[Feed]:
    """Each row of the arrays as a batch of one."""
    try:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError) as error:
        raise EnsembleError(f"this is not an .npz of plain arrays: {error}", path=path) from error
    sizes = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    if len(set(sizes.values())) > 1:
        raise EnsembleError(f"its arrays have different numbers of rows: {sizes}", path=path)
    return [
        {name: array[row : row + 1] for name, array in arrays.items()} for row in range(next(iter(sizes.values()), 0))
    ]


def check_feeds(feeds: Sequence[Feed], model: Any, source: str) -> None:
    """Raises :class:`EnsembleError` unless there are ``feeds``, and each has the inputs of the ONNX ``model`` with
    their types and dims."""
    from onnx import helper

    if not feeds:
        raise EnsembleError(f"{source} has no calibration data: it is empty", cure="give 100 to 500 typical requests")
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = {tensor.name: tensor.type.tensor_type for tensor in model.graph.input if tensor.name not in weights}
    for number, feed in enumerate(feeds, 1):
        about = f"{source}, row {number}"
        if feed.keys() != inputs.keys():
            names = ", ".join(sorted(inputs))
            raise EnsembleError(
                f"{about}: the model's inputs are {names}, and it has {', '.join(sorted(feed)) or 'none'}"
            )
        for name, expected in inputs.items():
            dtype = helper.tensor_dtype_to_np_dtype(expected.elem_type)
            dims = [axis.dim_value if axis.HasField("dim_value") else -1 for axis in expected.shape.dim]
            shape = feed[name].shape
            fits = len(shape) == len(dims) and all(dim in (-1, size) for dim, size in zip(dims, shape, strict=True))
            if feed[name].dtype != dtype or not fits:
                given = f"{feed[name].dtype} {list(shape)}"
                raise EnsembleError(f"{about}: the model's input {name} is {dtype} {dims}, and this is {given}")
