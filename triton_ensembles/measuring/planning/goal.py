"""The goal of a plan."""

from dataclasses import dataclass

from triton_ensembles.measuring.planning.prediction import Prediction


@dataclass(frozen=True)
class Goal:
    """The limits that a choice has to keep.

    Args:
        p99: seconds, of the requests whose model is loaded; None: any.
        cold: share of requests that find their model not loaded; None: any.
    """

    p99: float | None = None
    cold: float | None = None

    def met(self, prediction: Prediction) -> bool:
        """Whether the instances keep up, within these limits."""
        if prediction.overload:
            return False
        fast = self.p99 is None or (prediction.warm is not None and prediction.warm.p99 <= self.p99)
        return fast and (self.cold is None or prediction.cold <= self.cold)

    def __str__(self) -> str:
        parts = []
        if self.p99 is not None:
            parts.append(f"p99 of loaded models {self.p99 * 1000:g} ms")
        if self.cold is not None:
            parts.append(f"{self.cold:.2%} cold".replace(".00%", " %").replace("%", " %").replace("  ", " "))
        return " and ".join(parts) if parts else "instances that keep up"
