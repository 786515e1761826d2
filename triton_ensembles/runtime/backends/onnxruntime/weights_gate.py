"""Checks that prepacked weights suit this ONNX Runtime and processor, and that the files are those of the build.

Weights that are packed at build time are mapped from a file that all sessions and instances share, but serve only the
kernels that they are packed for. So beside the plain graph, which runs anywhere, a build writes:

    model.onnx            the graph, optimized; its weights are in model.weights
    model.prepacked.onnx  the graph for one processor
    model.weights         plain and prepacked weights
    model.gate.json       version, instruction sets, sizes and checksums of the files, a known input and its answer
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from triton_ensembles.runtime.backends.common.batching import Array
from triton_ensembles.runtime.backends.common.checksum import fingerprint
from triton_ensembles.runtime.backends.common.instruction_sets import instruction_sets
from triton_ensembles.runtime.backends.common.known_input import Answer, KnownTensor, agree, sampled, values_of
from triton_ensembles.runtime.backends.common.model_instance import LoadError


class GatedFiles:
    """The files of one model, beside each other."""

    def __init__(self, plain: Path) -> None:
        self.plain = plain
        self.prepacked = plain.with_suffix(f".prepacked{plain.suffix}")
        self.weights = plain.with_suffix(".weights")
        self.gate = plain.with_suffix(".gate.json")

    def fingerprints(self) -> dict[str, dict[str, int]]:
        """Size in bytes and CRC-32 of each file but the record, by name."""
        return {path.name: fingerprint(path) for path in (self.plain, self.prepacked, self.weights)}


@dataclass(frozen=True)
class WeightsGate:
    """The record of a build."""

    onnxruntime: str  # the version that packed the weights
    instruction_sets: tuple[str, ...]  # of the processor that they were packed for
    level: int  # ``optimization.graph.level`` of the config that both graphs are optimized by
    files: Mapping[str, Mapping[str, int]]  # as of GatedFiles.fingerprints()
    inputs: Mapping[str, KnownTensor]  # the known input
    answer: Answer  # of the plain graph

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=2, sort_keys=True) + "\n")

    def refusal(self, onnxruntime: str, level: int) -> str:
        """Why the prepacked graph does not suit this process; "" when it does."""
        if self.onnxruntime != onnxruntime:
            return f"they were packed by ONNX Runtime {self.onnxruntime}, and this is {onnxruntime}"
        recorded, here = set(self.instruction_sets), set(instruction_sets())
        if recorded != here:
            lacks, adds = (", ".join(sorted(sets)) or "nothing" for sets in (recorded - here, here - recorded))
            return f"they were packed for another processor: this one lacks {lacks}, and adds {adds}"
        if self.level != level:
            return f"the graph was optimized at level {self.level}, and the config has optimization.graph.level {level}"
        return ""

    def is_answered_by(self, run: Callable[[list[str], dict[str, Array]], list[Array]]) -> bool:
        """Return whether a session, given as ``run(outputs, inputs)``, gives the recorded answer to the known input."""
        names = list(self.answer)
        return agree(sampled(names, run(names, values_of(self.inputs))), self.answer)


def read_gate(files: GatedFiles, *, checks: bool) -> WeightsGate | None:
    """The record beside a model; None for a model that is one file. Raises LoadError for a damaged or missing file.
    With ``checks``, the checksums of the files are compared, and not only their sizes."""
    if not files.gate.exists():
        if extra := next((path.name for path in (files.prepacked, files.weights) if path.exists()), ""):
            raise LoadError(f"{files.gate.name} is missing, which belongs to {extra}: build the model again")
        return None
    gate = _parse(files.gate)
    for path in (files.plain, files.prepacked, files.weights):
        recorded = gate.files.get(path.name)
        if recorded is None:
            raise LoadError(f"{files.gate.name} does not know {path.name}, so it is of another model: build it again")
        if not path.is_file():
            raise LoadError(f"{path.name} is missing, which {files.gate.name} names: build the model again")
        if path.stat().st_size != recorded["size"] or (checks and fingerprint(path) != recorded):
            raise LoadError(f"{path.name} is damaged or of another build than {files.gate.name}: build the model again")
    return gate


def _parse(path: Path) -> WeightsGate:
    try:
        record = json.loads(path.read_bytes())
        return WeightsGate(
            onnxruntime=str(record["onnxruntime"]),
            instruction_sets=tuple(record["instruction_sets"]),
            level=int(record["level"]),
            files={name: {key: int(file[key]) for key in ("size", "crc32")} for name, file in record["files"].items()},
            inputs={
                name: KnownTensor(str(known["type"]), tuple(known["shape"]), int(known["least"]), int(known["most"]))
                for name, known in record["inputs"].items()
            },
            answer={name: tuple(map(float, values)) for name, values in record["answer"].items()},
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        message = f"{path.name} is damaged, not the record of a build ({reason}): build the model again"
        raise LoadError(message) from error
