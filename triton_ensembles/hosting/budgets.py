"""The limits of one tritonserver and its models."""

from dataclasses import dataclass

from triton_ensembles.sagemaker.contract import INVOKE_SECONDS


@dataclass(frozen=True)
class Budgets:
    """The limits of one instance; the seconds are AWS's."""

    memory_bytes: int  # of tritonserver and its Python processes together, as the kernel counts it (PSS)
    disk_bytes: int  # of unpacked models, and of the environments that the container unpacks
    invoke_seconds: float = INVOKE_SECONDS  # that InvokeEndpoint waits, for a model and for the container each
    load_seconds: float = 360  # that downloading and loading may take in the background
    startup_seconds: float = 240  # that the container may take until /ping answers
    drain_seconds: float = 30  # that running requests may take when the variant is stopped; this project's own
    evict_ahead: bool = False  # whether a load has room made for the next one; AWS's rule is not published
