"""An ONNX model with its weights in a file beside it, plain and packed for this processor, which sessions map.

The files are those of runtime/backends/onnxruntime/weights_gate.py. ONNX Runtime optimizes the model twice: the plain
graph as far as any processor can run it, and the prepacked one for this processor; both name one file of weights. The
model stays as it is where that cannot be proven: without a known input, or with answers that differ each time.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import onnx
import onnxruntime as ort

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.known_answer import Known, first_answered
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.runtime.backends.common.instruction_sets import instruction_sets
from triton_ensembles.runtime.backends.common.known_input import Answer, agree, sampled, values_of
from triton_ensembles.runtime.backends.onnxruntime.tensors import tensor_of
from triton_ensembles.runtime.backends.onnxruntime.weights_gate import GatedFiles, WeightsGate

TOOLS = ("onnx",)  # ONNX Runtime's version is an option
_RUNTIME = ("common/known_input", "onnxruntime/tensors", "onnxruntime/weights_gate")
READS = ("artifacts/known_answer.py", *(f"runtime/backends/{module}.py" for module in _RUNTIME))

_INLINE = 1024  # bytes; smaller tensors stay in the graph
_PAGE, _LINE = 4096, 64  # a large tensor begins with a page, so that only what is read is in memory
_DISABLED, _BASIC, _EXTENDED, _ALL = (
    getattr(ort.GraphOptimizationLevel, f"ORT_{name}")
    for name in ("DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_ALL")
)
# By optimization.graph.level: how far the plain and the prepacked graph are optimized. Only all optimizations include
# those for one processor: the layout of convolutions.
_LEVELS = {-1: (_BASIC, _BASIC), 0: (_EXTENDED, _ALL), 1: (_EXTENDED, _EXTENDED), 2: (_DISABLED, _DISABLED)}


def make(job: Job) -> Facts:
    """Write the folder ``job.output``: the model under its own name, and the other files. Options: ``level``, as
    ``optimization.graph.level`` of the config; ``onnxruntime``, the version that this process must have;
    ``instruction_sets``, of this processor, which the build needs to tell its results apart. Raises
    :class:`EnsembleError`: ONNX Runtime cannot load the model."""
    source, level = job.source_file(), int(job.options["level"])
    if ort.__version__ != job.options["onnxruntime"]:
        raise EnsembleError(f"this is ONNX Runtime {ort.__version__}, and {job.options['onnxruntime']} is needed")
    job.output.mkdir()
    files = GatedFiles(job.output / source.name)
    if reason := _map(source, files, level):
        shutil.copyfile(source, files.plain)
        return {"weights": f"in the graph: {reason}"}
    return {"weights": "mapped", "onnxruntime": ort.__version__, "weights_bytes": files.weights.stat().st_size}


def _map(source: Path, files: GatedFiles, level: int) -> str:
    """Write the files; or say why not, and write none."""
    for_plain, for_prepacked = _LEVELS[level]
    try:
        session = _open(source, _options(for_prepacked))
    except Exception as error:  # ONNX Runtime's exceptions have no other common base
        raise EnsembleError(f"ONNX Runtime {ort.__version__} cannot load {source.name}: {error}") from error
    if (answered := _answered(session)) is None:
        return "no input is known that the model answers with finite numbers"
    known, answer = answered
    del session
    with tempfile.TemporaryDirectory(dir=files.plain.parent.parent) as scratch, files.weights.open("xb") as stream:
        weights = _Weights(stream)
        # The prepacked graph's own are first in the file, and the others behind them are seldom read.
        for path, optimization in ((files.prepacked, for_prepacked), (files.plain, for_plain)):
            graph = _optimized(source, Path(scratch) / path.stem, optimization, packs=path == files.prepacked)
            weights.move(graph, Path(scratch) / path.stem)
            path.write_bytes(graph.SerializeToString(deterministic=True))
    for path, optimization in ((files.prepacked, _DISABLED), (files.plain, _LEVELS[level][1])):
        if not agree(_answer(_open(path, _options(optimization)), known), answer):
            for written in (files.plain, files.prepacked, files.weights):
                written.unlink()
            return f"{path.name} does not answer as the model does"
    gate = WeightsGate(ort.__version__, tuple(instruction_sets()), level, files.fingerprints(), known, answer)
    gate.write(files.gate)
    return ""


def _options(level: Any) -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # it warns that the graph is for this processor only
    return options


def _open(path: Path, options: ort.SessionOptions) -> ort.InferenceSession:
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _optimized(source: Path, folder: Path, level: Any, *, packs: bool) -> onnx.ModelProto:
    """The graph that ONNX Runtime makes of ``source``, with its weights in the file ``weights`` in ``folder``."""
    folder.mkdir()
    options = _options(level)
    options.optimized_model_filepath = str(folder / "graph")
    external = "session.optimized_model_external_initializers"
    options.add_session_config_entry(f"{external}_file_name", "weights")
    options.add_session_config_entry(f"{external}_min_size_in_bytes", str(_INLINE))
    options.add_session_config_entry("session.save_external_prepacked_constant_initializers", str(int(packs)))
    _open(source, options)
    return onnx.load(folder / "graph", load_external_data=False)


def _answered(session: ort.InferenceSession) -> tuple[Known, Answer] | None:
    """The first known input that the model answers with finite numbers, and the answer."""
    if any(node.type == "tensor(string)" or not node.type.startswith("tensor(") for node in session.get_outputs()):
        return None
    return first_answered([tensor_of(node) for node in session.get_inputs()], lambda known: _answer(session, known))


def _answer(session: ort.InferenceSession, known: Known) -> Answer:
    names = [node.name for node in session.get_outputs()]
    return sampled(names, session.run(names, values_of(known)))


@dataclass
class _Weights:
    """The file of weights: each blob of bytes once, wherever the graphs name it."""

    stream: BinaryIO
    offsets: dict[bytes, int] = field(default_factory=dict)

    def move(self, model: onnx.ModelProto, folder: Path) -> None:
        """Move what ``model`` names in ``folder`` into this file, and name it there."""
        with (folder / "weights").open("rb") as source:
            for tensor in _initializers(model.graph):
                if tensor.data_location != onnx.TensorProto.EXTERNAL:
                    continue
                entries = {entry.key: entry for entry in tensor.external_data}
                entries["location"].value = Path(self.stream.name).name
                offset, length = int(entries["offset"].value), int(entries["length"].value)
                entries["offset"].value = str(self._add(source, offset, length))
                for key, entry in entries.items():
                    if key.startswith("prepacked_"):
                        entry.value = self._packed(source, entry.value)

    def _packed(self, source: BinaryIO, entry: str) -> str:
        """``KERNEL+HASH|offset;length;checksum|…``: a kernel's name, and the blobs that it made of a tensor."""
        kernel, *blobs = entry.split("|")
        moved = [kernel]
        for blob in blobs:
            offset, length, checksum = blob.split(";")
            moved.append(f"{self._add(source, int(offset), int(length))};{length};{checksum}")
        return "|".join(moved)

    def _add(self, source: BinaryIO, offset: int, length: int) -> int:
        source.seek(offset)
        blob = source.read(length)
        key = hashlib.sha256(blob).digest()
        if key not in self.offsets:
            alignment = _PAGE if length >= _PAGE else _LINE
            self.stream.write(bytes(-self.stream.tell() % alignment))
            self.offsets[key] = self.stream.tell()
            self.stream.write(blob)
        return self.offsets[key]


def _initializers(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """The weights of the graph and of the graphs within it, such as the branches of If."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _initializers(inner)
