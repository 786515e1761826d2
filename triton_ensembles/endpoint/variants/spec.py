"""The plan of a variant: its container, and the limits of each instance."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from triton_ensembles.hosting.budgets import Budgets
from triton_ensembles.triton.destination import Destination

Mode = Literal["SingleModel", "MultiModel"]
CacheSetting = Literal["Enabled", "Disabled"]


@dataclass(frozen=True)
class ContainerSpec:
    """A ContainerDefinition of CreateModel.

    The image's URI is kept and shown; the local container is always this project's own tritonserver, with stubs of the
    image's Python where this machine has it, and with the gateway before it if the image has "gateway" in its name.
    """

    image: str
    model_data_url: str  # s3://bucket/prefix/ of all archives for MultiModel, s3://bucket/key.tar.gz for SingleModel
    mode: Mode = "SingleModel"
    environment: Mapping[str, str] = field(default_factory=dict)  # with SAGEMAKER_TRITON_…
    cache_setting: CacheSetting = "Enabled"  # "Disabled": a model is unloaded and deleted when no request uses it

    @property
    def is_gateway(self) -> bool:
        """Return whether the container is the gateway's: several models by name and version."""
        return "gateway" in self.image.rsplit("/", 1)[-1].partition(":")[0]

    @property
    def release(self) -> tuple[int, int]:
        """The release in the image's name, such as (24, 9); that of the server on this machine if there is none."""
        return Destination(image=self.image).release

    def object_url(self, target_model: str) -> str:
        """The URL of the archive ``target_model``: AWS concatenates the two strings.

        So a prefix without a slash goes with ``TargetModel="/x.tar.gz"``; where neither has one, it is added.
        """
        slash = "" if self.model_data_url.endswith("/") or target_model.startswith("/") else "/"
        return f"{self.model_data_url}{slash}{target_model}"


@dataclass(frozen=True)
class VariantPlan:
    """A production variant of an endpoint configuration, with its model looked up."""

    name: str
    spec: ContainerSpec
    budgets: Budgets
    instance_count: int
    instance_type: str
    weight: float
