"""How much an instance may use, and how long things may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budgets:
    """Limits of one instance.

    Args:
        memory_bytes: what tritonserver and its Python processes may use together, as the kernel counts it (PSS).
        disk_bytes: what unpacked models may take on disk.
        invoke_seconds: how long InvokeEndpoint waits, for a model and for the container each; AWS: 60.
        load_seconds: how long downloading and loading may go on in the background; AWS: 360.
        startup_seconds: how long the container may take until /ping answers; AWS: 240.
        drain_seconds: how long running requests may take when the variant is stopped.
    """

    memory_bytes: int
    disk_bytes: int
    invoke_seconds: float = 60
    load_seconds: float = 360
    startup_seconds: float = 240
    drain_seconds: float = 60
