"""The differences between targets. The ensembles in git are written for the native backends of the gpu target.

cpu: the server from a wheel. Its backends are this project's own, DALI decodes on the CPU, every instance is KIND_CPU,
and the recipe names the engine of each model. OpenVINO and ONNX Runtime batch requests of different lengths if a config
declares that padding is masked. With an image, its Python steps are for the Python of that image, under whose name the
local endpoint serves them.

gpu: NVIDIA's image of one release, in which SageMaker serves on a GPU. The table of releases has its backends, DALI and
Python.

fused: the DAG as one model for the Python backend, which brings its engines; for any server whose Python backend has
the right Python: the one from a wheel, or that of NVIDIA's image of one release.
"""

from dataclasses import dataclass, replace

from triton_ensembles.ground.errors import UsageError
from triton_ensembles.ground.spelling import choices, nearest
from triton_ensembles.triton.destination import UNDECIDED, Destination
from triton_ensembles.triton.model_config import ModelInstanceGroup
from triton_ensembles.triton.pip_server import VERSION, server_python
from triton_ensembles.triton.releases import Release, check_image, image_of, releases, version

NAMES = ("cpu", "gpu", "fused")
OLDEST_FUSED_PYTHON = (3, 10)


@dataclass(frozen=True)
class Target:
    """Target that archives are built for.

    Its engines pad requests of different lengths to one batch (backends/common/padding.py) where ``pads_batches``;
    NVIDIA's native backends concatenate ragged rows instead, and must not get any.
    """

    name: str  # "cpu", "gpu" or "fused"
    release: Release
    image: str  # the release of NVIDIA's image ("24.09"); "" for the server from a wheel
    backends: tuple[str, ...]  # those that run models, in the order in which one replaces a missing one
    instance_kind: int = ModelInstanceGroup.KIND_CPU  # replaces KIND_GPU of the configs in git
    dali_device: str = "cpu"  # of fn.decoders.image: "cpu" or "mixed"
    dali_version: str = ""  # of the DALI that reads the pipeline; "" for the installed one
    python: str = ""  # the minor version of packed environments; "" for that of the environment file
    pads_batches: bool = True
    chooses_engines: bool = True  # whether the recipe's engines apply
    instance: str = ""  # the instance type that the archive is for; "" if not given
    fuses: bool = False  # whether the archive holds one model that runs all steps
    single: bool = False  # for a single-model endpoint of SageMaker: called models keep their names

    @property
    def destination(self) -> Destination:
        """Destination for ``check``."""
        return Destination(self.name, self.instance, self.image, single=UNDECIDED if self.single else None)

    @property
    def server(self) -> str:
        """The server in words."""
        return f"NVIDIA's image of Triton {self.image}" if self.image else f"tritonserver {VERSION} from a wheel"

    def differences(self) -> dict[str, str]:
        """The target in words, for users who compare targets."""
        owner = "backends/" if self.chooses_engines else "native"
        return {
            "server": self.server,
            "backends": f"{'engines in the archive' if self.fuses else owner}: {', '.join(self.backends)}",
            "instances": ModelInstanceGroup.Kind.Name(self.instance_kind),
            "engine of a step": "the recipe's [engines.STEP]" if self.chooses_engines else "as in its config.pbtxt",
            "images are decoded": "on the GPU (mixed)" if self.dali_device == "mixed" else "on the CPU",
            "DALI": self.dali_version or "the installed one",
            "Python of environments": self.python or "as in the environment file",
            "different lengths": "padded to one batch" if self.pads_batches else "batched where equal",
        }


_ON_CPU = ("onnxruntime", "tensorflow", "openvino", "pytorch", "dali")
CPU = Target("cpu", releases()["24.10"], image="", backends=_ON_CPU)


def cpu(image: str = "", instance: str = "") -> Target:
    """The cpu target: for the Python of the server from a wheel, or for that of an image as :func:`gpu` takes it.

    A release that is unknown, or whose Python is, and an instance raise :class:`UsageError`.
    """
    if instance:
        cure = "add --target gpu or --target fused"
        raise UsageError("the cpu target is not built for an instance", cure=cure)
    return replace(CPU, python=_release(image).python) if image else CPU


GPU_BACKENDS = ("tensorrt", "onnxruntime", "tensorflow", "pytorch", "dali")


def gpu(image: str, instance: str = "") -> Target:
    """The gpu target for an image: a release ("24.09"), or a name that has one ("…/tritonserver:24.09-py3").

    A release that is unknown, or whose Python is, raises :class:`UsageError`.
    """
    release = _release(image)
    return Target(
        name="gpu",
        release=release,
        image=release.release,
        backends=tuple(backend for backend in GPU_BACKENDS if backend in release.backends),
        instance_kind=ModelInstanceGroup.KIND_GPU,
        dali_device="mixed",
        dali_version=release.dali,
        python=release.python,
        pads_batches=False,
        chooses_engines=False,
        instance=instance,
    )


def fused(image: str = "", instance: str = "") -> Target:
    """The fused target: for the server from a wheel and its Python, or for an image as :func:`gpu` takes it.

    A release that is unknown, or whose Python is unknown or too old, raises :class:`UsageError`.
    """
    local = replace(CPU, name="fused", fuses=True, python=server_python())
    if not image:
        if instance:
            raise UsageError(f"{instance} needs an image", cure="add --image 24.09: the archive is for its Python")
        return local
    release = _release(image)
    if version(release.python) < OLDEST_FUSED_PYTHON:
        oldest = next(name for name, row in releases().items() if version(row.python) >= OLDEST_FUSED_PYTHON)
        raise UsageError(
            f"the image of Triton {release.release} has Python {release.python}, and a fused ensemble needs "
            f"{'.'.join(map(str, OLDEST_FUSED_PYTHON))}",
            cure=f"choose {oldest} or a newer release with --image",
        )
    return replace(local, release=release, image=release.release, python=release.python, instance=instance)


def _release(image: str) -> Release:
    """The release that an image has, whose Python is known. Raises :class:`UsageError`."""
    if not image:
        raise UsageError("--target gpu needs an image", cure="write --image 24.09 (IMAGE=24.09 with make)")
    check_image(image)
    release = image_of(Destination(image=image))
    if release is None:
        cure = "write the release that the image was made from, as --image 24.09"
        raise UsageError(f"'{image}' does not name a release of Triton, and an archive is built for one", cure=cure)
    if not release.python:
        message = f"the Python of the image of Triton {release.release} is unknown"
        raise UsageError(message, cure="choose another release with --image")
    return release


def check_target(name: str) -> str:
    """Return ``name``. Raises :class:`UsageError`: there is no such target."""
    if name not in NAMES:
        meant = nearest(name, NAMES)
        raise UsageError(f"there is no target {name!r}", cure=f"write {choices([meant] if meant else NAMES)}")
    return name


def target_of(name: str, image: str = "", instance: str = "") -> Target:
    """The target that a command line names. Raises :class:`UsageError`."""
    return {"cpu": cpu, "gpu": gpu, "fused": fused}[check_target(name)](image, instance)
