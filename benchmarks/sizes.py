"""The part "size": what the archives take, with and without the weights."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.contenders.contender import DRAWN, FUSED
from benchmarks.engines import find_step
from benchmarks.results import Results
from benchmarks.tables import Table
from benchmarks.variants import built_variant, with_wheels
from checkout import PLACES
from triton_ensembles.archive.write import write_archive
from triton_ensembles.building.build import build
from triton_ensembles.building.built import Built
from triton_ensembles.progress import Progress
from triton_ensembles.triton.targets import CPU, Target, fused


def measure(results: Results, _rounds: int, progress: Progress) -> None:
    """Put the figures and the table into ``results``; a size needs one round only."""
    built = {
        "drawn": _built("bert_trt", CPU, progress),
        "wheels": built_variant("bert_trt", "wheels", with_wheels, CPU, progress),
        "fused": _built("bert_trt", fused(), progress),
    }
    images = [_built("dali_inception", target, progress) for target in (CPU, fused())]
    bare = {key: size_without_weights(each.repository) for key, each in built.items()}
    names = {"drawn": DRAWN, "wheels": f"{DRAWN}, with wheels", "fused": FUSED}
    rows = {f"bert_trt, {names[key]}": (each.archive.stat().st_size, bare[key]) for key, each in built.items()}
    for each, form in zip(images, (DRAWN, FUSED), strict=True):
        rows[f"dali_inception, {form}"] = (each.archive.stat().st_size, size_without_weights(each.repository))
    results.tables.append(table(rows))
    results.figures |= {f"size_{key}": size / 1e6 for key, size in bare.items()}


def _built(name: str, target: Target, progress: Progress) -> Built:
    return build(PLACES.ensembles / name, target, PLACES, allow_random=True, weights_dir=None, progress=progress)


def size_without_weights(repository: Path) -> int:
    """Bytes of the archive of ``repository``, packed again without the files that its engine runs."""
    weights = find_step(repository).file
    with tempfile.TemporaryDirectory(dir=repository.parent) as folder:
        tree, archive = Path(folder) / "tree", Path(folder) / "archive.tar.gz"
        shutil.copytree(repository, tree, copy_function=os.link)
        for path in (tree / weights.relative_to(repository)).parent.glob(f"{weights.stem}.*"):
            path.unlink()  # model.onnx, model.prepacked.onnx, model.weights, or the one file of another engine
        write_archive(tree, archive)
        return archive.stat().st_size


def table(found: Mapping[str, tuple[int, int]]) -> Table:
    """Of each archive: bytes, and bytes without the weights."""
    rows = [[name, *(f"{size / 1e6:.1f}" for size in both)] for name, both in found.items()]
    note = "Without weights: packed again without the files that the engine runs."
    return Table("Archives", ["", "MB", "MB without weights"], rows, note)
