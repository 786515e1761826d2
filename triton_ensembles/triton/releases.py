"""What is known of Triton's releases and of SageMaker's instances: releases.csv and instances.csv, with their sources.

An empty cell is unknown, and so is what has no row; rules say so instead of guessing.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from triton_ensembles.triton.destination import Destination

_FOLDER = Path(__file__).parent
TABLE = _FOLDER / "releases.csv"

# server r22.07 ... r26.08 build.py enable_all: what the py3 image holds, beside TensorFlow (a column of the table).
ALWAYS = frozenset(
    {
        "ensemble",
        "identity",
        "square",
        "repeat",
        "onnxruntime",
        "python",
        "dali",
        "pytorch",
        "openvino",
        "fil",
        "tensorrt",
    }
)

# (glibc, libstdc++.so.6.0.N) of the base images, as those Ubuntu releases ship them.
_UBUNTU = {"20.04": ((2, 31), 28), "22.04": ((2, 35), 30), "24.04": ((2, 39), 33)}


@dataclass(frozen=True)
class Release:
    """One row of releases.csv; "" is unknown."""

    release: str
    triton: str
    ubuntu: str
    python: str
    cuda: str
    tensorrt: str
    dali: str
    onnxruntime: str
    tensorflow: str
    pybind11: str
    sagemaker: str

    @property
    def backends(self) -> frozenset[str]:
        return ALWAYS | {"tensorflow"} if self.tensorflow == "yes" else ALWAYS

    @property
    def glibc(self) -> tuple[int, int] | None:
        return _UBUNTU[self.ubuntu][0] if self.ubuntu in _UBUNTU else None

    @property
    def libstdcxx(self) -> int | None:
        """N of libstdc++.so.6.0.N."""
        return _UBUNTU[self.ubuntu][1] if self.ubuntu in _UBUNTU else None

    @property
    def reads_numpy2(self) -> bool | None:
        """Whether the stub's pybind11 knows numpy 2's layout of dtypes; None when the version is unknown."""
        return version(self.pybind11) >= (2, 12) if self.pybind11 else None


@dataclass(frozen=True)
class Instance:
    """An instance type: ``gpu`` "" and ``gpus`` 0 when it has no NVIDIA GPU."""

    name: str
    gpu: str
    compute_capability: str
    architecture: str
    gpus: int


@cache
def releases() -> dict[str, Release]:
    """All known releases by name (``24.09``), the oldest first."""
    return {row["release"]: Release(**row) for row in _rows("releases.csv")}


def release_of(target: Destination) -> Release | None:
    """The row of the release that the target's image names, or of this project's own server; None when unknown."""
    if target.image and not target.image_names_release:
        return None
    return releases().get(target.release_name)


def image_of(target: Destination) -> Release | None:
    """As :func:`release_of`, but None when no image was chosen (or none whose release is known)."""
    return release_of(target) if target.image_names_release else None


@cache
def instance_of(name: str) -> Instance | None:
    """``ml.g5.xlarge`` (``ml.`` may be left out); None when its family is not in the table."""
    family, _, size = name.removeprefix("ml.").partition(".")
    for row in _rows("instances.csv"):
        if row["family"] == family:
            gpu = "" if row["gpu"] == "none" else row["gpu"]
            return Instance(name, gpu, row["compute_capability"], row["architecture"], _count(row["gpus"], size))
    return None


@cache
def families() -> tuple[str, ...]:
    return tuple(row["family"] for row in _rows("instances.csv"))


def version(text: str) -> tuple[int, ...]:
    """``10.4.0.26`` as numbers; what is no number ends it."""
    numbers = []
    for part in text.split("."):
        if not part.isdigit() or len(part) > 9:
            break
        numbers.append(int(part))
    return tuple(numbers)


def agree(one: str, other: str) -> bool:
    """Whether two versions are the same, as far as both are stated: ``10.4.0`` and ``10.4.0.26``."""
    pairs = list(zip(version(one), version(other), strict=False))
    return bool(pairs) and all(ours == theirs for ours, theirs in pairs)


def _count(written: str, size: str) -> int:
    counts = dict(part.split("=") for part in written.split() if "=" in part)
    others = [part for part in written.split() if "=" not in part]
    return int(counts.get(size, others[0] if others else 1))


def _rows(name: str) -> list[dict[str, str]]:
    with (_FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))
