"""What CreateModel says about a container."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Mode = Literal["SingleModel", "MultiModel"]
CacheSetting = Literal["Enabled", "Disabled"]


@dataclass(frozen=True)
class ContainerSpec:
    """A ContainerDefinition of CreateModel.

    Args:
        image: the image's URI; kept, since the local container is always the project's own tritonserver.
        model_data_url: ``s3://bucket/prefix/`` of all archives for MultiModel, ``s3://bucket/key.tar.gz`` for
            SingleModel.
        environment: the container's variables, SAGEMAKER_TRITON_* among them.
        cache_setting: MultiModelConfig.ModelCacheSetting: with "Disabled" a model is unloaded and deleted as soon as
            nobody uses it.
    """

    image: str
    model_data_url: str
    mode: Mode = "SingleModel"
    environment: Mapping[str, str] = field(default_factory=dict)
    cache_setting: CacheSetting = "Enabled"

    def object_url(self, target_model: str) -> str:
        """Where the archive of ``target_model`` is: AWS puts the two strings together."""
        slash = "" if self.model_data_url.endswith("/") else "/"
        return f"{self.model_data_url}{slash}{target_model}"
