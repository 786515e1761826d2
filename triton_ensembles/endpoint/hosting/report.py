"""What an instance tells: to the observer at once, and to the status page as the last things that happened."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime

from triton_ensembles.endpoint.hosting.observer import Event, Metric, Observer, Unit
from triton_ensembles.endpoint.hosting.status import Happening
from triton_ensembles.errors import EnsembleError

_REMEMBERED = 50


class Diary:
    """The last errors and evictions of a variant."""

    def __init__(self) -> None:
        self.errors: deque[Happening] = deque(maxlen=_REMEMBERED)
        self.evictions: deque[Happening] = deque(maxlen=_REMEMBERED)


class Report:
    """The voice of one instance."""

    def __init__(self, observer: Observer, diary: Diary, variant: str, instance: int) -> None:
        self._observer = observer
        self._diary = diary
        self._instance = instance
        self._dimensions = {"VariantName": variant, "InstanceIndex": str(instance)}

    def metric(self, name: Metric, value: float, unit: Unit, target_model: str | None = None) -> None:
        dimensions = self._dimensions if target_model is None else {**self._dimensions, "TargetModel": target_model}
        self._observer.metric(name, value, unit, dimensions)

    def event(self, kind: Event, text: str) -> None:
        self._observer.event(kind, f"instance {self._instance}: {text}")

    def error(self, target_model: str, error: EnsembleError) -> None:
        self._diary.errors.appendleft(self._happening(target_model, error.message, error.cure))
        self.event("error", str(error))

    def warning(self, target_model: str, text: str, cure: str = "") -> None:
        self._diary.errors.appendleft(self._happening(target_model, text, cure))
        self.event("warning", f"{text}; {cure}" if cure else text)

    def evicted(self, kind: Event, target_model: str, why: str) -> None:
        """``kind`` is model-evicted (from memory) or model-deleted (from the disk)."""
        what = "unloaded" if kind == "model-evicted" else "deleted from the disk"
        self._diary.evictions.appendleft(self._happening(target_model, f"{what}: {why}"))
        self.event(kind, f"{target_model} is {what}: {why}")

    def _happening(self, target_model: str, text: str, cure: str = "") -> Happening:
        return Happening(datetime.now(UTC), self._instance, target_model, text, cure)
