"""Triton's releases, SageMaker's instances and what ONNX Runtime reads: releases.csv, instances.csv and
onnxruntime.csv, which name their sources.

An empty cell or a missing row means unknown. Rules do not guess it.
"""

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import table_rows
from triton_ensembles.ground.spelling import nearest
from triton_ensembles.triton.destination import Destination

_FOLDER = Path(__file__).parent
TABLE = _FOLDER / "releases.csv"

# server r22.07 ... r26.08, build.py enable_all: the backends of every py3 image. TensorFlow is a column of the table.
_PLAIN = ("ensemble", "identity", "square", "repeat", "python")
ALWAYS = frozenset((*_PLAIN, "onnxruntime", "dali", "pytorch", "openvino", "fil", "tensorrt"))

# server docs/customization_guide/build.md: what a build without a GPU leaves out. AWS does not publish what its py3-cpu
# image has: it is taken to be such a build.
_NOT_IN_CPU_BUILDS = frozenset(("dali", "tensorrt"))

# (glibc, libstdc++.so.6.0.N) of the base images, as those Ubuntu releases ship them.
_UBUNTU = {"20.04": ((2, 31), 28), "22.04": ((2, 35), 30), "24.04": ((2, 39), 33)}

# Of botocore 1.44.5's ProductionVariantInstanceType, in general form.
_SIZE = re.compile(r"medium|large|\d*xlarge|metal")


@dataclass(frozen=True)
class Release:
    """A row of releases.csv, whose head explains the columns; "" means unknown."""

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
        """The backends of the py3 image."""
        return ALWAYS | {"tensorflow"} if self.tensorflow == "yes" else ALWAYS

    @property
    def cpu_backends(self) -> frozenset[str]:
        """The backends of the py3-cpu image."""
        return self.backends - _NOT_IN_CPU_BUILDS

    @property
    def glibc(self) -> tuple[int, int] | None:
        """The image's version of glibc; None if unknown."""
        return _UBUNTU[self.ubuntu][0] if self.ubuntu in _UBUNTU else None

    @property
    def libstdcxx(self) -> int | None:
        """N of the image's libstdc++.so.6.0.N; None if unknown."""
        return _UBUNTU[self.ubuntu][1] if self.ubuntu in _UBUNTU else None

    @property
    def reads_numpy2(self) -> bool | None:
        """Return whether the stub's pybind11 supports numpy 2; None if its version is unknown."""
        return version(self.pybind11) >= (2, 12) if self.pybind11 else None


class OnnxLimits(NamedTuple):
    """The most that a version of ONNX Runtime loads: a row of onnxruntime.csv, whose head explains the columns."""

    ir: int
    onnx: int
    ml: int


@dataclass(frozen=True)
class Instance:
    """An instance type of SageMaker."""

    name: str  # such as "ml.g5.xlarge"
    gpu: str  # the model of its NVIDIA GPUs; "" without one
    compute_capability: str  # such as "8.6"; "" without a GPU
    architecture: str  # of its processor, "x86_64" or "aarch64"
    gpus: int  # their number
    int8: str  # whether its processors compute in int8: "yes", "some", "no"; "" when unknown


@cache
def releases() -> dict[str, Release]:
    """All known releases by name (``24.09``), the oldest first."""
    return {row["release"]: Release(**row) for row in table_rows(_FOLDER / "releases.csv")}


def release_of(target: Destination) -> Release | None:
    """The release that the target's image names, or that of this project's own server; None if it is unknown."""
    if target.image and not target.image_names_release:
        return None
    release = releases().get(target.release_name)
    if release and target.language_models == "trtllm":  # made of another image: compatibility.md names its versions
        older = {"python": "3.10", "ubuntu": "22.04"} if release.release == "24.11" else {}
        return replace(release, tensorrt="", dali="", onnxruntime="", **older)
    return release


def image_of(target: Destination) -> Release | None:
    """As :func:`release_of`, but None if no image was chosen (or one whose release is unknown)."""
    return release_of(target) if target.image_names_release else None


def image_named(name: str) -> str:
    """The newest release for ``newest``, the newest that SageMaker has an image of for ``sagemaker``, else ``name``."""
    if name not in ("newest", "sagemaker"):
        return name
    rows = [row for row in releases().values() if row.python and (name == "newest" or row.sagemaker == "yes")]
    return rows[-1].release


def check_image(image: str) -> None:
    """Refuse what cannot be an image.

    A release, a tag of NVIDIA's or AWS's images, and a name of theirs (``…tritonserver:24.09-py3``) have to be in the
    table. Any other name with a path or a tag is an image of the user's own, of whose content nothing is known. What is
    neither raises :class:`EnsembleError`.
    """
    named = Destination(image=image)
    known = named.image_names_release and named.release_name in releases()
    own = re.search("[/:@]", image) and not (named.image_names_release and "tritonserver:" in image)
    if known or own:
        return
    of_version = next((row.release for row in releases().values() if row.triton and row.triton in image), None)
    meant = of_version or nearest(named.release_name if named.image_names_release else image, releases())
    raise EnsembleError(
        f"'{image}' does not name a known release of Triton" + (f" (did you mean {meant}?)" if meant else ""),
        cure=f"the known releases are {', '.join(releases())}; an image of your own is written as name:tag",
    )


def check_instance(name: str) -> None:
    """Refuse what is no instance type: its family is not in the table, or its size is none. ``ml.`` is optional."""
    family, _, size = name.removeprefix("ml.").partition(".")
    if family not in families():
        meant = nearest(family, families())
        raise EnsembleError(
            f"'{name}' is not a known instance type"
            + (f" (did you mean ml.{meant}.{size or 'xlarge'}?)" if meant else ""),
            cure=f"the known families are {', '.join(families())}",
        )
    if not _SIZE.fullmatch(size):
        raise EnsembleError(
            f"SageMaker knows no size '{size}'" if size else f"'{name}' is a family, not an instance type",
            cure=f"write a size such as large, xlarge, 2xlarge or metal, as in ml.{family}.2xlarge",
        )


@cache
def onnx_limits(onnxruntime: str) -> OnnxLimits | None:
    """Limits of a version of ONNX Runtime; None if they are unknown."""
    for row in table_rows(_FOLDER / "onnxruntime.csv"):
        if version(onnxruntime)[:2] == version(row["onnxruntime"]):
            return OnnxLimits(int(row["ir"]), int(row["onnx"]), int(row["ml"]))
    return None


@cache
def instance_of(name: str) -> Instance | None:
    """The instance type ``ml.g5.xlarge`` (``ml.`` is optional); None if the table does not tell its GPUs."""
    family, _, size = name.removeprefix("ml.").partition(".")
    for row in table_rows(_FOLDER / "instances.csv"):
        if row["family"] == family and row["gpus"]:
            gpu = "" if row["gpu"] == "none" else row["gpu"]
            facts = (row["compute_capability"], row["architecture"], _count(row["gpus"], size), row["int8"])
            return Instance(name, gpu, *facts)
    return None


def tag_of(release: str, instance: Instance) -> str:
    """The tag of SageMaker's image of a release that AWS's Python SDK picks for an instance type."""
    return f"{release}-py3" if instance.gpus else f"{release}-py3-cpu"


def is_cpu_image(target: Destination) -> bool:
    """Return whether the models will run in a py3-cpu image: its tag says so, or it is picked by the instance type,
    which has no GPU, because no more than a release was chosen."""
    if target.image not in ("", target.release_name):
        return target.image_is_for_cpu
    instance = instance_of(target.instance)
    return instance is not None and not instance.gpus


def backends_of(target: Destination) -> frozenset[str] | None:
    """The backends of the image, those of any release's py3-cpu image if only the instance type tells that it is one;
    None if they are unknown."""
    image = image_of(target)
    if not is_cpu_image(target):
        return image.backends if image else None
    if image:
        return image.cpu_backends
    return None if target.image else frozenset().union(*(release.cpu_backends for release in releases().values()))


@cache
def changes() -> list[dict[str, str]]:
    """The rows of behavior.csv, whose head explains the columns."""
    return table_rows(_FOLDER / "behavior.csv")


@cache
def families() -> tuple[str, ...]:
    """The instance families of the table, such as ``g5``."""
    return tuple(row["family"] for row in table_rows(_FOLDER / "instances.csv"))


def instance_types() -> list[str]:
    """The instance types that SageMaker has for endpoints, such as ``ml.g5.xlarge``."""
    rows = table_rows(_FOLDER / "instances.csv")
    return [f"ml.{row['family']}.{size}" for row in rows for size in row["sizes"].split()]


def version(text: str) -> tuple[int, ...]:
    """``10.4.0.26`` as numbers, up to the first part that is not a number."""
    numbers = []
    for part in text.split("."):
        if not part.isdigit() or len(part) > 9:
            break
        numbers.append(int(part))
    return tuple(numbers)


def dotted(numbers: tuple[int, ...]) -> str:
    """The text of :func:`version`."""
    return ".".join(map(str, numbers))


def agree(first: str, second: str) -> bool:
    """Return whether two versions are equal as far as both go, such as ``10.4.0`` and ``10.4.0.26``."""
    pairs = list(zip(version(first), version(second), strict=False))
    return bool(pairs) and all(ours == theirs for ours, theirs in pairs)


def _count(written: str, size: str) -> int:
    """The number of GPUs of a size in a cell such as ``1 12xlarge=4``."""
    counts = dict(part.rpartition("=")[::2] for part in written.split())
    return int(counts.get(size) or counts.get("") or 1)
