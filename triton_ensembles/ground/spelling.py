"""Did you mean …? The one place that decides how close a name has to be."""

import difflib
import re
from collections.abc import Iterable
from itertools import islice

_NEAR = 0.7
_VERY_NEAR, _CLEAR = 0.85, 0.1  # how near, and by how much nearer than all others, leaves no doubt
_MOST = 300  # names to compare with
_LONGEST = 80  # difflib is quadratic, and a name of a thousand letters is not a misspelling


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant, or None. Case and ``-``/``_`` count less than letters."""
    names = list(islice(known, _MOST + 1))
    if len(word) > _LONGEST or len(names) > _MOST:
        return None
    names.sort(key=lambda name: (name.isupper() is word.isupper(), name))  # of two that differ in case, the last counts
    by_key = {_key(name): name for name in names if name != word}
    if exact := by_key.get(_key(word)):
        return exact
    matches = difflib.get_close_matches(_key(word), by_key, n=1, cutoff=_NEAR)
    return by_key[matches[0]] if matches else None


def suggestion(word: str, known: Iterable[str], text: str = "did you mean '{}'?") -> str:
    """``text`` with the name that was probably meant, as :func:`nearest`; "" for none."""
    meant = nearest(word, known)
    return text.format(meant) if meant else ""


def only_near(word: str, known: Iterable[str]) -> str | None:
    """The known name that was meant without doubt: as :func:`nearest`, if no other one is nearly as near. Numbers are
    not misspelt: INPUT1 is not meant for INPUT0."""
    names = list(islice({*known} - {word}, _MOST + 1))
    if len(word) > _LONGEST or len(names) > _MOST:
        return None
    ratios = [(difflib.SequenceMatcher(None, _key(word), _key(name)).ratio(), name) for name in names]
    (first, name), (second, _) = [*sorted(ratios, reverse=True), (0.0, ""), (0.0, "")][:2]
    digits, meant = (re.sub(r"\D", "", text) for text in (word, name))
    is_clear = first >= _NEAR > second or (first >= _VERY_NEAR and first - second >= _CLEAR)
    return name if is_clear and digits in ("", meant) else None


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
