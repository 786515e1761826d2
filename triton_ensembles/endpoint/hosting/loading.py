"""How many models an instance loads at a time, and when a load whose memory is a guess may run beside others."""

from collections.abc import Iterable

# More may wait for unloads, each of which takes Triton a second, as long as they hold this share of the budget: what
# they have evicted is away meanwhile.
_WAITING_SHARE = 8
_TIMES = 3  # what was guessed: a model whose size is unknown may take so much, or this share of the budget
_SHARE = 4


def most_loads(cores: int) -> int:
    """AWS: "a factor of the number of vCPUs". Each load blocks a thread of the container's front end."""
    return 2 * cores


def is_crowded(loads: int, waiting: int, budget: int, cores: int) -> bool:
    """Whether ``loads`` are too many for another one, of which those that wait for unloads have reserved ``waiting`` of
    the ``budget``'s bytes."""
    return loads >= most_loads(cores) and waiting * _WAITING_SHARE > budget


def fits_beside_guesses(need: int, guesses: Iterable[int], budget: int, room: int) -> bool:
    """Whether there is room for one more model whose size is a guess, though all guesses are far too low."""
    return need + sum(max((_TIMES - 1) * each, budget // _SHARE - each) for each in (need, *guesses)) <= room
