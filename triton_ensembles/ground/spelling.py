"""Did you mean …? The one place that decides how close a name has to be."""

import difflib
from collections.abc import Iterable
from itertools import islice

_NEAR = 0.7
_MOST = 300  # names to compare with
_LONGEST = 80  # difflib is quadratic, and a name of a thousand letters is not a misspelling


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant, or None. Case and ``-``/``_`` count less than letters."""
    names = list(islice(known, _MOST + 1))
    if len(word) > _LONGEST or len(names) > _MOST:
        return None
    by_key = {_key(name): name for name in names if name != word}
    if exact := by_key.get(_key(word)):
        return exact
    matches = difflib.get_close_matches(_key(word), by_key, n=1, cutoff=_NEAR)
    return by_key[matches[0]] if matches else None


def only_near(word: str, known: Iterable[str]) -> str | None:
    """The known name that was meant without doubt: as :func:`nearest`, if no other one is near."""
    names = set(known) - {word}
    by_key = {_key(name): name for name in names}
    if len(word) > _LONGEST or len(names) > _MOST or len(by_key) < len(names):
        return None
    matches = [_key(word)] if _key(word) in by_key else difflib.get_close_matches(_key(word), by_key, 2, _NEAR)
    return by_key[matches[0]] if len(matches) == 1 else None


def choices(known: Iterable[str], most: int = 12) -> str:
    """``'a', 'b' or 'c'`` for a message; at most ``most`` of them."""
    return _joined(known, most, "or")


def listed(names: Iterable[str], most: int = 12) -> str:
    """``'a', 'b' and 'c'`` for a message; at most ``most`` of them."""
    return _joined(names, most, "and")


def most_of(names: Iterable[str], most: int = 4) -> str:
    """``a, b and 3 more`` for a message, in the order given and without quotes."""
    every = list(names)
    shown = every if len(every) <= most else [*every[:most], f"{len(every) - most} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _joined(known: Iterable[str], most: int, word: str) -> str:
    names = [f"'{name}'" for name in sorted(known)]
    if len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}" if names else "nothing"


def _key(name: str) -> str:
    return name.lower().replace("-", "_")
