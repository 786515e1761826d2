"""What policies want, and which of them gets it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Wish:
    """A number of instances.

    Attributes:
        tracks: whether it is that of a target tracking policy.
        cooldown: seconds that must have passed since the last change.
    """

    count: int
    cause: str
    cooldown: float
    tracks: bool

    def possible(self, count: int, since: float, suspended: Mapping[str, bool]) -> bool:
        """Whether it may change the present ``count``, ``since`` seconds after the last change."""
        name = "DynamicScalingOutSuspended" if self.count > count else "DynamicScalingInSuspended"
        return since >= self.cooldown and not suspended.get(name, False)


def chosen(wishes: Sequence[Wish], count: int, since: float, suspended: Mapping[str, bool]) -> Wish | None:
    """The most instances that any policy wants. All target tracking policies must agree to have fewer."""
    changes = [wish for wish in wishes if wish.count != count and wish.possible(count, since, suspended)]
    more = [wish for wish in changes if wish.count > count]
    content = any(wish.tracks and wish not in changes for wish in wishes)
    fewer = [wish for wish in changes if wish.count < count and not (wish.tracks and content)]
    return max(more or fewer, key=lambda wish: wish.count, default=None)
