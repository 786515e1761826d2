"""What takes part in the part "gateway": the reference, the gateway as it is in git, and with resnet in bf16."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.aws_gateway.environment import REQUIREMENTS, reference_nginx, reference_venv
from benchmarks.aws_gateway.models import write_models
from benchmarks.aws_gateway.server import Place
from benchmarks.contenders.contender import AWS_GATEWAY, GATEWAY, GATEWAY_BF16
from benchmarks.contenders.gateway import GatewayContender, aws_gateway, own_gateway
from benchmarks.engines import find_step
from benchmarks.gateway_requests import MODELS
from benchmarks.results import Results
from benchmarks.variants import FOLDER, built_variant, with_bf16
from checkout import PLACES, ROOT
from triton_ensembles.building.build import build
from triton_ensembles.building.built import Built
from triton_ensembles.building.gateway import stage_gateway
from triton_ensembles.building.places import Places
from triton_ensembles.commands.reports import warn_of_random_weights
from triton_ensembles.errors import EnsembleError
from triton_ensembles.gateway.table import read_table
from triton_ensembles.progress import Progress
from triton_ensembles.triton.gateway_server import TABLE
from triton_ensembles.triton.targets import CPU

_TABLE = ROOT / "gateway" / TABLE
_IN_BF16 = "resnet"
FP32_TOLERANCE, BF16_TOLERANCE = 0.01, 0.1


@contextmanager
def gateway_contenders(
    results: Results, progress: Progress
) -> Iterator[tuple[list[GatewayContender], Mapping[str, Path]]]:
    """Those that can take part, the reference first; and the built ensembles of the gateway, by model.

    Raises:
        EnsembleError: the gateway cannot be built.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        scratch = Path(folder)
        built = _built(results, progress)
        contenders = [
            *_reference(scratch / "reference", results, progress),
            _own(GATEWAY, built, _TABLE, PLACES, FP32_TOLERANCE, [*MODELS]),
            *_bf16(built, scratch, results, progress),
        ]
        yield contenders, {name: each.repository for name, each in zip(MODELS, built, strict=True)}


def _built(results: Results, progress: Progress) -> list[Built]:
    found = []
    for name in MODELS:
        folder = PLACES.ensembles / name
        found.append(build(folder, CPU, PLACES, allow_random=True, weights_dir=None, progress=progress))
        warn_of_random_weights(name, random=found[-1].random)
        results.facts["weights"][name] = found[-1].manifest["weights"]
    return found


def _reference(folder: Path, results: Results, progress: Progress) -> Iterator[GatewayContender]:
    try:
        place = Place(folder, reference_venv(progress), reference_nginx(progress))
        write_models(folder, PLACES, progress)
    except EnsembleError as error:
        results.missing[AWS_GATEWAY] = str(error)
        progress(f"!!! {AWS_GATEWAY} DOES NOT TAKE PART: {error} !!!")
        return
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)$", REQUIREMENTS.read_text(), re.MULTILINE))
    versions = ", ".join(f"{name} {pinned[name]}" for name in ("gunicorn", "Flask", "transformers", "torch"))
    front = f"{'nginx, ' if place.nginx else 'without nginx, '}{versions}"
    yield aws_gateway(AWS_GATEWAY, f"{front}; {place.workers} workers; ONNX Runtime in tritonserver", place)


def _bf16(built: list[Built], scratch: Path, results: Results, progress: Progress) -> Iterator[GatewayContender]:
    """In which the engine of resnet computes in bf16; the others' recipes have no check of their accuracy for that."""
    try:
        variant = built_variant(_IN_BF16, "bf16", with_bf16, CPU, progress)
    except EnsembleError as error:  # such as that this processor does not compute in it
        results.missing[GATEWAY_BF16] = str(error)
        progress(f"!!! {GATEWAY_BF16} DOES NOT TAKE PART: {error} !!!")
        return
    table = scratch / TABLE
    table.write_text(_TABLE.read_text().replace(f'model = "{_IN_BF16}"', f'model = "{variant.name}"'))
    places = Places(ensembles=FOLDER / "ensembles", build=FOLDER / "build", dist=FOLDER / "dist")
    others = [each for each in built if each.name != _IN_BF16]
    yield _own(GATEWAY_BF16, [variant, *others], table, places, BF16_TOLERANCE, [_IN_BF16])


def _own(
    name: str, built: list[Built], table: Path, places: Places, tolerance: float, models: Sequence[str]
) -> GatewayContender:
    folder = stage_gateway(built, read_table(table), table, places, CPU)
    steps = (find_step(each.repository) for each in built)
    about = "uvicorn; in tritonserver " + ", ".join(map("{}: {}".format, (each.name for each in built), steps))
    return own_gateway(name, about, folder, tolerance, models)
