"""The report of a tritonserver and its models to whoever hosts them."""

from typing import Protocol

from triton_ensembles.ground.errors import EnsembleError


class Report(Protocol):
    """Takes metrics, events and errors of one server. ``target_model`` is "" where it is not about one model."""

    def metric(self, name: str, value: float, target_model: str = "") -> None:
        """Record a value of a metric of ``sagemaker/metric_names.py``, in its unit."""

    def gone(self, target_model: str) -> None:
        """The server has unloaded the model, or has not been able to load it."""

    def event(self, kind: str, text: str) -> None:
        """Something to show people who watch, in one line. ``kind``: "model-loaded", "model-evicted", …"""

    def error(self, target_model: str, error: EnsembleError) -> None:
        """A request, a load or the server has failed."""

    def warning(self, target_model: str, text: str, cure: str = "") -> None:
        """Something is wrong although it works."""
