"""What a plan has to reach."""

from dataclasses import dataclass

from triton_ensembles.planning.prediction import Prediction


@dataclass(frozen=True)
class Goal:
    """The most that may be.

    Args:
        p99: seconds, of the requests whose model is loaded; None: any.
        cold: share of requests that find their model not loaded; None: any.
    """

    p99: float | None = None
    cold: float | None = None

    def met(self, found: Prediction) -> bool:
        """Whether the instances keep up, and all that."""
        if found.overload or (found.warm is None and found.cold < 1):
            return False
        fast = self.p99 is None or (found.warm is not None and found.warm.p99 <= self.p99)
        return fast and (self.cold is None or found.cold <= self.cold)

    def __str__(self) -> str:
        parts = []
        if self.p99 is not None:
            parts.append(f"p99 of loaded models {self.p99 * 1000:g} ms")
        if self.cold is not None:
            parts.append(f"{self.cold:.2%} cold".replace(".00%", " %").replace("%", " %").replace("  ", " "))
        return " and ".join(parts) if parts else "instances that keep up"
