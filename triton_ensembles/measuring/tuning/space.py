"""The space of settings: what may be set to which values, and the candidates in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Value = str | int | None
_STRIDES = (1, -1, 3, -3)  # along a scale, where the next value often makes no difference that can be measured


@dataclass(frozen=True)
class Setting:
    """A setting of a step.

    Attributes:
        step: of the ensemble, as its folder is called.
        key: such as "instances"; ``knobs.py`` says what each means.
        values: the possible ones, the present one among them.
        present: the value at the start.
        scale: whether the values are in an order, so that a good one is near a good one.
    """

    step: str
    key: str
    values: tuple[Value, ...]
    present: Value
    scale: bool = True

    @property
    def name(self) -> str:
        return f"{self.step}.{self.key}"

    def nearby(self, value: Value) -> Iterator[tuple[Value, int]]:
        """Values to try from ``value``, each with the direction in which it lies (0 without an order)."""
        place = self.values.index(value)
        if not self.scale:
            yield from ((another, 0) for another in self.values if another != value)
            return
        for stride in _STRIDES:
            if 0 <= place + stride < len(self.values):
                yield self.values[place + stride], 1 if stride > 0 else -1

    def beyond(self, value: Value, direction: int) -> Iterator[Value]:
        """The values that follow ``value`` in a direction."""
        place = self.values.index(value) + direction
        while direction and 0 <= place < len(self.values):
            yield self.values[place]
            place += direction


@dataclass(frozen=True)
class Candidate:
    """A value for each setting, by the setting's name: only those that differ from the present."""

    changes: tuple[tuple[str, Value], ...] = ()

    def value(self, setting: Setting) -> Value:
        return dict(self.changes).get(setting.name, setting.present)

    def having(self, setting: Setting, value: Value) -> Candidate:
        """The candidate with another value of one setting."""
        changes = {name: present for name, present in self.changes if name != setting.name}
        if value != setting.present:
            changes[setting.name] = value
        return Candidate(tuple(sorted(changes.items())))

    def as_dict(self) -> Mapping[str, Value]:
        return dict(self.changes)

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.changes) or "present settings"


PRESENT = Candidate()
