"""A rule of the checker: its name, its source, an example of the fault, and the function that finds it.

The module of a rule imports from here all that rules are written with. The name of a rule's function is its id,
``tensor_dims_missing`` for ``tensor-dims-missing``; a function that makes several rules gives an ``id``. The names of
its parameters say what it looks at: first a :class:`Scope`, then ``destination`` if its findings also depend on it.
What all rules of a module have in common is its ``SOURCE``, ``GOOD``, ``SERVER``, ``DESTINATION`` or ``GOOD_LOADS``.

A finding without an effect gets "Triton refuses it: " and ``words``. An example that is a string is the text of its
config.pbtxt. By default the server refuses ``bad`` when there are ``words``, and accepts it when there are none.
"""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, partial
from typing import Any

from triton_ensembles.checking.fault import Fault, Finding, Place, Severity
from triton_ensembles.checking.repository import Form, Model, Repository
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.spelling import nearest
from triton_ensembles.triton.destination import Destination

__all__ = [
    "ANYWHERE", "REGISTERED", "Destination", "Example", "Finding", "Form", "Model", "Place", "Repository", "Rule",
    "Scope", "Server", "Severity", "note", "rule", "warning",
]  # fmt: skip
ANYWHERE = Destination()
Finder = Callable[..., Iterator[Finding]]


class Scope(StrEnum):
    """The subject of a rule, which is the name of its function's first parameter."""

    MODEL = "model"  # one Model
    REPOSITORY = "repository"  # one Repository with all its models
    DESTINATION = "destination"  # the Destination alone
    ENDPOINT = "repositories"  # a tuple of all the Repository values given, as members of one endpoint
    PROBE = "probe"  # a Probe: what the real server did with the models of a Repository, with --run only
    FOUND = "found"  # what all rules of other scopes found, as Found has it


class Server(StrEnum):
    """How the real tritonserver treats the bad example of a rule; the tests hold it to that."""

    REFUSES = "refuses"  # the load fails, and the log has ``Rule.words``
    DIES = "dies"  # the load never ends, or the server crashes
    ACCEPTS = "accepts"  # it loads, and something else goes wrong later or silently
    JUDGES = "judges"  # it is the server that finds the fault, with --run
    UNTESTED = "untested"  # a laptop cannot show it (it takes a GPU, SageMaker or another release)


@dataclass(frozen=True)
class Example:
    """A model for the tests and for ``check --explain``.

    ``config`` is its config.pbtxt, without ``name``, so that it can be staged under any folder name; steps may be those
    of :mod:`triton_ensembles.checking.examples`. ``files`` are the others in its folder, path to text, None for an
    empty folder; by default ``1/`` for an ensemble, else ``1/model.py`` of an identity model.
    """

    config: str | None
    files: Mapping[str, str | None] | None = None
    beside: Mapping[str, str | None] = field(default_factory=dict)  # further files of the repository, by unique paths
    folder: str = ""  # the name of the model's folder, when it matters


@dataclass(frozen=True)
class Rule:
    """A fault that can be found. The bad example gets exactly this fault, the good one none at all, and the real server
    refuses or loads them accordingly; a rule about archives, endpoints or environments may describe them in
    examples.toml instead."""

    id: str  # it never changes, because people write it down
    title: str  # in one line, for docs/rules.md
    source: str  # where the rule comes from: a function of core at r24.10, an AWS page, a measurement
    severity: Severity
    lower: Severity | None  # the severity that some of its findings have instead, which say so
    bad: Example | None
    good: Example | None
    server: Server  # what the real server does with ``bad``
    words: str  # what it says when it refuses ``bad``, or a part of it; "…" stands for anything
    since: str  # the first release of Triton that has the rule, when 24.10 does not
    destination: Destination  # what the examples are checked for, when the rule depends on it
    good_loads: bool  # false when ``good`` needs what a laptop lacks, so that only the checker can be held to it
    find: Finder

    @cached_property
    def scope(self) -> Scope:
        """Return the subject of the rule."""
        return Scope(next(iter(inspect.signature(self.find).parameters)))

    @cached_property
    def reads_destination(self) -> bool:
        """Return whether its findings also depend on the destination."""
        return len(inspect.signature(self.find).parameters) > 1

    @property
    def severities(self) -> str:
        """``error``, or ``error or warning``."""
        return " or ".join(filter(None, (self.severity, self.lower)))

    def faults(self, subject: Any, destination: Destination) -> Iterator[Fault]:
        """The faults of ``subject``, which is what :attr:`scope` says; nothing from what could not be read."""
        try:
            for finding in self.find(subject, destination) if self.reads_destination else self.find(subject):
                default = f"Triton refuses it: {self.words}" if self.words and self.server is Server.REFUSES else ""
                severity, effect = finding.severity or self.severity, finding.effect or default
                texts = (finding.message, effect, finding.cure)
                yield Fault(severity, self.id, finding.place, *texts, edits=finding.edits, makes=finding.makes)
        except UnknownValueError:
            return


REGISTERED: dict[str, Rule] = {}  # those made so far: triton_ensembles.checking.registry makes them all


def rule(
    title: str,
    *,
    id: str = "",
    source: str = "",
    bad: str | Example | None = None,
    good: str | Example | None = None,
    severity: Severity = Severity.ERROR,
    lower: Severity | None = None,
    server: Server | None = None,
    words: str = "",
    since: str = "",
    destination: Destination | None = None,
    good_loads: bool = True,
) -> Callable[[Finder], Rule]:
    """Make a :class:`Rule` of a function that yields a :class:`Finding` for each fault, and register it."""

    def make(find: Finder) -> Rule:
        module = vars(sys.modules[find.__module__])
        expected = Server.REFUSES if words else Server.ACCEPTS if bad else Server.UNTESTED
        return _registered(
            Rule(
                id or find.__name__.replace("_", "-"),
                title,
                source or module["SOURCE"],
                severity,
                lower,
                _example(bad),
                _example(good or (bad and module.get("GOOD"))),
                server or module.get("SERVER", expected),
                words,
                since,
                destination or module.get("DESTINATION", ANYWHERE),
                good_loads and module.get("GOOD_LOADS", True),
                find,
            )
        )

    return make


def _registered(new_rule: Rule) -> Rule:
    if REGISTERED.setdefault(new_rule.id, new_rule) is not new_rule:
        raise ValueError(f"there are two rules called {new_rule.id}")
    return new_rule


warning = partial(rule, severity=Severity.WARNING)
note = partial(rule, severity=Severity.NOTE)


def _example(value: str | Example | None) -> Example | None:
    return Example(value) if isinstance(value, str) else value


def cure_for(name: str) -> str:
    """The advice to somebody who wrote ``name``, which no rule has, in a comment, in pyproject.toml or a command."""
    begins = next((id for id in REGISTERED if len(name) > 3 and id.startswith(name)), None)
    meant = begins or nearest(name, [id for id in REGISTERED if abs(len(id) - len(name)) < 6])
    return f"did you mean '{meant}'?" if meant else "check --explain lists the rules"
