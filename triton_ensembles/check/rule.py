"""A rule of the checker: its name, where it comes from, how it looks when broken, and the function that looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from triton_ensembles.check.fault import Fault, Finding, Severity
from triton_ensembles.triton.destination import Destination

ANY_TARGET = Destination()
Finder = Callable[..., Iterator[Finding]]


class Scope(StrEnum):
    """What a rule's function gets as its first argument; the second is always the :class:`Destination`."""

    MODEL = "model"  # one Model
    REPOSITORY = "repository"  # one Repository with all its models
    ENDPOINT = "endpoint"  # a tuple of all the Repository values given, as members of one endpoint


class Server(StrEnum):
    """What the real tritonserver does with the bad example of a rule: the tests hold it to that."""

    REFUSES = "refuses"  # the load fails, and the log has ``Rule.words``
    DIES = "dies"  # the load never ends, or the server itself goes down
    ACCEPTS = "accepts"  # it loads, and something else goes wrong later or in silence
    UNTESTED = "untested"  # cannot be shown on a laptop (needs a GPU, SageMaker or another release)


@dataclass(frozen=True)
class Example:
    """A model for tests and for docs/rules.md.

    Args:
        config: its config.pbtxt. Leave ``name`` out, so that it can be staged under any folder name. Steps may be
            those of :mod:`triton_ensembles.check.examples`.
        files: what else lies in its folder: path to text, None for an empty folder. When not given, what the config
            needs: ``1/`` for an ensemble, else ``1/model.py`` of an identity model.
        beside: further files of the repository, by path (``other/config.pbtxt``); give them names of their own.
        folder: the name of the model's folder, when it matters.
    """

    config: str | None
    files: Mapping[str, str | None] | None = None
    beside: Mapping[str, str | None] = field(default_factory=dict)
    folder: str = ""


@dataclass(frozen=True)
class Rule:
    """See :func:`rule` for the arguments."""

    id: str
    title: str
    source: str
    scope: Scope
    severity: Severity
    bad: Example | None
    good: Example | None
    server: Server
    words: str
    since: str
    target: Destination
    good_loads: bool
    find: Finder

    def faults(self, subject: Any, target: Any) -> Iterator[Fault]:
        for found in self.find(subject, target):
            yield Fault(self.severity, self.id, found.place, found.message, found.effect, found.cure)


def rule(
    id: str,
    title: str,
    *,
    source: str,
    bad: str | Example | None,
    good: str | Example | None,
    scope: Scope = Scope.MODEL,
    severity: Severity = Severity.ERROR,
    server: Server = Server.REFUSES,
    words: str = "",
    since: str = "",
    target: Destination = ANY_TARGET,
    good_loads: bool = True,
) -> Callable[[Finder], Rule]:
    """Make a :class:`Rule` of a function ``find(subject, target) -> Iterator[Finding]``.

    Args:
        id: short, kebab-case, never changed: people write it down.
        title: the rule in one line, for docs/rules.md.
        source: where the rule comes from: a function of core at r24.10, an AWS page, a measurement.
        bad, good: examples; a string is the config.pbtxt of an :class:`Example`. The bad one gets exactly this fault,
            the good one none at all, and the real server refuses or loads them accordingly.
        server: what the real server does with ``bad``.
        words: a part of what the real server says when it refuses ``bad``.
        since: the first release of Triton that has the rule, when 24.10 does not.
        target: what the examples are checked for, when the rule depends on it.
        good_loads: false when the good example needs what a laptop lacks (a GPU, TensorRT), so that only the checker
            can be held to it.
    """

    def make(find: Finder) -> Rule:
        bad_, good_ = _example(bad), _example(good)
        return Rule(id, title, source, scope, severity, bad_, good_, server, words, since, target, good_loads, find)

    return make


def _example(value: str | Example | None) -> Example | None:
    return Example(value) if isinstance(value, str) else value
