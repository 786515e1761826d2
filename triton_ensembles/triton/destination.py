"""Destination that a repository is checked for: the server's release, and where it will run."""

import re
from dataclasses import dataclass

from triton_ensembles.triton.dockerfile import Dockerfile

LOCAL = (24, 10)  # tritonserver 2.51.0, which this project runs and against which the rules are tested
_RELEASE = re.compile(r"(?<![\d.])(\d\d)\.(\d\d)(?!\d)")
_LANGUAGE_MODELS = re.compile(r"-(vllm|trtllm)-")  # 24.09-vllm-python-py3
_FOR_CPU = re.compile(r"-cpu(?![a-z0-9])")  # 24.09-py3-cpu


@dataclass(frozen=True)
class SingleModel:
    """How a single-model endpoint of SageMaker serves its archive.

    Attributes:
        model: SAGEMAKER_TRITON_DEFAULT_MODEL_NAME; "" where it is left out, None where that is not decided yet.
        inference: SAGEMAKER_TRITON_INFERENCE_TYPE: "infer", "generate" or "generate_stream"; "" where not decided.
    """

    model: str | None = ""
    inference: str = "infer"


UNDECIDED = SingleModel(None, "")
"""Before it is deployed."""


@dataclass(frozen=True)
class Destination:
    """Where a repository will be served; "" where that is not known."""

    device: str = ""  # the target: "cpu", "gpu" or "fused"
    instance: str = ""  # an instance type of SageMaker, such as "ml.g5.xlarge"
    image: str = ""  # the name of a Triton image, or only its release ("24.09"); "" for this project's own server
    undecided: bool = False  # whether the image is chosen later, so that nothing is told of its Python and C library
    dockerfile: Dockerfile | None = None  # that the image is made from, where that is known
    single: SingleModel | None = None  # on a single-model endpoint of SageMaker; None is a multi-model one
    replaces: str = ""  # the release that served it before, ``24.09``, where a change of image is judged

    @property
    def release(self) -> tuple[int, int]:
        """The Triton release (year, month) in the image's name or tag: ``24.09``, ``…tritonserver:24.09-py3``."""
        match = _RELEASE.search(self._tag)
        return (int(match[1]), int(match[2])) if match else LOCAL

    @property
    def image_names_release(self) -> bool:
        """Return whether the image's name or tag contains a release."""
        return bool(_RELEASE.search(self._tag))

    @property
    def release_name(self) -> str:
        """The release as NVIDIA writes it, ``24.09``."""
        return "{:02}.{:02}".format(*self.release)

    @property
    def image_is_for_cpu(self) -> bool:
        """Return whether the image's tag is that of a CPU-only build, as SageMaker names it."""
        return bool(_FOR_CPU.search(self._tag.rpartition(":")[2]))

    @property
    def language_models(self) -> str:
        """``vllm`` or ``trtllm``, for NVIDIA's images of these engines; "" for others."""
        match = _LANGUAGE_MODELS.search(self._tag)
        return match[1] if match else ""

    @property
    def has_usual_backends(self) -> bool:
        """Return whether the image is none for language models, and no minimal one."""
        tag = self.image.rpartition(":")[2]
        return not any(word in tag for word in ("vllm", "trtllm", "min", "sdk", "pyt", "tf2", "igpu"))

    @property
    def is_of_nvidia(self) -> bool:
        """Return whether the name is that of NVIDIA's image, or of AWS's, which is made of it; a release or a tag
        is."""
        name = self.image.partition("@")[0].rpartition(":")[0] or ("" if "/" not in self.image else self.image)
        own = ("", "tritonserver", "sagemaker-tritonserver", "nvcr.io/nvidia/tritonserver")
        return name in own or (".dkr.ecr." in name and name.endswith("/sagemaker-tritonserver"))

    @property
    def _tag(self) -> str:
        """The image without its digest and the registry, which may contain other numbers (an account, an address)."""
        return self.image.rpartition("/")[2].partition("@")[0]
