"""What an endpoint configuration asks for."""

from __future__ import annotations

from dataclasses import dataclass

from triton_ensembles.endpoint.hosting.spec import ContainerSpec


@dataclass(frozen=True)
class VariantPlan:
    """A production variant of an endpoint configuration, with its model looked up.

    Args:
        disk_bytes: VolumeSizeInGB in bytes; None where it is not given.
        load_seconds: ModelDataDownloadTimeoutInSeconds; None where it is not given.
        startup_seconds: ContainerStartupHealthCheckTimeoutInSeconds; None where it is not given.
    """

    name: str
    model_name: str
    spec: ContainerSpec
    instance_count: int
    instance_type: str
    weight: float
    disk_bytes: int | None
    load_seconds: float | None
    startup_seconds: float | None
