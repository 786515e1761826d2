"""The ensembles with precision bf16: the recipe's own option, set in a copy of the folder."""

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import tritonclient.http as http

from benchmarks.engines import Array, find_step
from triton_ensembles.building.build import Built, build
from triton_ensembles.building.places import Places
from triton_ensembles.errors import EnsembleError
from triton_ensembles.examples.request import Request
from triton_ensembles.paths import BUILD
from triton_ensembles.progress import Progress
from triton_ensembles.recipe.reader import RECIPE
from triton_ensembles.triton.targets import CPU

FOLDER = BUILD / "bench" / "bf16"
_TABLE = re.compile(r"^\[engines\..+\][ \t]*$", re.MULTILINE)
_CHOICES = re.compile(r"^(backend|precision)\s*=.*\n", re.MULTILINE)


def built_bf16(ensemble: Path, shared: Places, progress: Progress) -> Built:
    """``<name>_bf16``, built from a copy of the folder ``ensemble`` whose engines have precision bf16.

    Args:
        shared: whose downloads and store of artifacts are used, so that only what differs is made.

    Raises:
        EnsembleError: the recipe chooses no engine, or the build fails.
    """
    places = Places(ensembles=FOLDER / "ensembles", build=FOLDER, dist=FOLDER / "dist")
    copy = places.ensembles / f"{ensemble.name}_bf16"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ensemble, copy, ignore=shutil.ignore_patterns("__pycache__"))
    recipe = copy / RECIPE
    recipe.write_text(with_bf16((ensemble / RECIPE).read_text(encoding="utf-8"), ensemble / RECIPE), encoding="utf-8")
    for ours, theirs in ((places.downloads, shared.downloads), (places.store, shared.store)):
        if not ours.exists():
            ours.symlink_to(theirs)
    built = build(copy, CPU, places, allow_random=True, weights_dir=None, progress=progress)
    if not find_step(built.repository).bf16:
        raise EnsembleError("the engine of this ensemble does not compute in bf16", path=built.repository)
    return built


def with_bf16(recipe: str, path: Path) -> str:
    """The text of a recipe with bf16 in each [engines.STEP] table, and the one backend that computes in it."""
    if not _TABLE.search(recipe):
        raise EnsembleError("the recipe has no [engines.STEP] table in which a precision can be set", path=path)
    return _TABLE.sub(
        lambda table: f'{table[0].rstrip()}\nbackend = "openvino"\nprecision = "bf16"', _CHOICES.sub("", recipe)
    )


def answers(url: str, model: str, requests: Iterable[Request], output: str) -> Array:
    """The output of all requests, row below row, from the server at ``url``."""
    with http.InferenceServerClient(url) as client:
        return np.concatenate([client.infer(model, each.infer_inputs()).as_numpy(output) for each in requests])


def agreement(exact: Array, other: Array, *, classes: bool) -> dict[str, float]:
    """Of rows [n, d]: the lowest cosine, and with ``classes`` the share of rows with the same largest entry."""
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (exact, other)]
    found = {"lowest_cosine": round(float(np.sum(units[0] * units[1], axis=1).min()), 6)}
    if classes:
        found["same_top_1"] = round(float(np.mean(exact.argmax(axis=1) == other.argmax(axis=1))), 4)
    return found
