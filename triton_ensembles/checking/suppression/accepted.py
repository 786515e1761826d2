"""Faults that comments accept, and comments that accept nothing."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from triton_ensembles.checking.fault import Fault, Severity
from triton_ensembles.checking.suppression.comments import Suppression
from triton_ensembles.triton.model_config import CONFIG


@dataclass(frozen=True)
class Accepted:
    """A fault that does not count, and why: in the words of a comment (``in_source``), or by pyproject.toml's table."""

    fault: Fault
    reason: str
    in_source: bool


@dataclass(frozen=True)
class Found:
    """The findings of the rules, before a rule looks at the comments that are left over."""

    faults: tuple[Fault, ...]  # those that count
    accepted: tuple[Accepted, ...]  # those that a comment accepts
    unused: tuple[tuple[Suppression, str], ...]  # the rules that a comment names in vain
    broken: frozenset[str]  # the files with an error, in which more may be hidden


def split(faults: Iterable[Fault], comments: Sequence[Suppression], packed: Sequence[Suppression]) -> Found:
    """Take the faults that comments accept out of ``faults``. A comment without a reason accepts nothing.
    ``packed`` are the comments of archives, which are never unused: nobody edits them."""
    by_rule: dict[str, list[Suppression]] = defaultdict(list)
    for comment in (*comments, *packed):
        for rule in comment.rules if comment.reason else ():
            by_rule[rule].append(comment)
    kept: list[Fault] = []
    accepted: list[Accepted] = []
    used: set[tuple[Suppression, str]] = set()
    for fault in faults:
        matching = [comment for comment in by_rule.get(fault.rule, ()) if _is_about(comment, fault)]
        used.update((comment, fault.rule) for comment in matching)
        if matching:
            accepted.append(Accepted(fault, matching[0].reason, in_source=True))
        else:
            kept.append(fault)
    named = [(comment, rule) for comment in comments if comment.reason for rule in comment.rules]
    unused = [pair for pair in named if pair not in used]
    broken = frozenset(fault.place.path for fault in kept if fault.severity is Severity.ERROR)
    return Found(tuple(kept), tuple(accepted), tuple(unused), broken)


def _is_about(comment: Suppression, fault: Fault) -> bool:
    place = fault.place
    if place.path == comment.path:
        return not comment.lines or place.line in comment.lines
    folder, _, name = comment.path.rpartition("/")
    # Faults of the model's folder, and of files that have no lines to write a comment into.
    in_model = place.path == folder or (place.path.startswith(f"{folder}/") and not place.line)
    return name == CONFIG and not comment.lines and in_model
