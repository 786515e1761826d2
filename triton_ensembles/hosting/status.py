"""The state of one tritonserver and its models at one moment, as a frozen copy."""

from __future__ import annotations

from dataclasses import dataclass

from triton_ensembles.hosting.model import Model


@dataclass(frozen=True)
class InstanceStatus:
    """An instance: a tritonserver with its models."""

    index: int
    ready: bool
    pid: int | None
    restarts: int
    in_flight: int
    not_ready: int  # requests that were answered with 429, since their model was not loaded in time
    memory_bytes: int  # proportional set size of the server and its Python processes
    disk_bytes: int  # of models and of environments
    environment_bytes: int  # of environments that the server has unpacked into /tmp
    metrics_url: str | None  # of Triton's metrics, as ServerProcess has it; None when the container publishes none
    models: tuple[Model, ...]  # copies, the most recently used first
