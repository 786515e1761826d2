"""All the rules over all the repositories of some paths."""

import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from triton_ensembles.checking.check_report import Report
from triton_ensembles.checking.config_file import is_near_config
from triton_ensembles.checking.fault import Fault, Place, Severity
from triton_ensembles.checking.probe import Probe
from triton_ensembles.checking.python.flow import When
from triton_ensembles.checking.registry import RULES
from triton_ensembles.checking.repository import Form, Model, Repository
from triton_ensembles.checking.repository_search import find_repositories
from triton_ensembles.checking.rule import ANYWHERE, Rule, Scope, Server
from triton_ensembles.checking.sources import Sources, suppressions_of
from triton_ensembles.checking.suppression.accepted import Accepted, split
from triton_ensembles.checking.suppression.pyproject import split_ignored
from triton_ensembles.ground.errors import EnsembleError, escaped, shown
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.model_config import CONFIG

Run = Callable[[Sequence[Repository], Sequence[Fault]], Iterable[Probe]]
Subject = tuple[Scope, Any, Place]  # what rules of a scope look at, and where it is
_LATER = ("the model loads", When.CALLED.effect)
_MOST_FAULTS = 50  # of one rule in one model
_LONGEST_TEXT = 2000  # characters of a fault's message, effect or cure: a name may be a megabyte long


def check(paths: Sequence[Path], destination: Destination = ANYWHERE) -> Report:
    """Every fault of the repositories at ``paths``. Nothing is executed, imported or unpacked. Faults that a comment
    accepts, or the nearest pyproject.toml, do not count.

    Args:
        paths: model repositories, folders of such, or .tar.gz archives (several: the members of one endpoint).
        destination: the device, the instance and the image that the models are meant for, as far as they are known.

    Raises:
        EnsembleError: when a path does not exist, there is no model at all, or pyproject.toml is wrong.
    """
    return report_on(repositories_at(paths), paths, destination)


def repositories_at(paths: Sequence[Path]) -> list[Repository]:
    """The repositories that :func:`check` looks at. Raises :class:`EnsembleError`."""
    repositories: list[Repository] = []
    for path in paths:
        if not path.exists():
            raise EnsembleError("there is no such file or folder", path=path, cure="name a repository or a .tar.gz")
        inside = list(find_repositories(path))
        if not inside:
            raise _no_model(path)
        repositories += inside
    return repositories


def report_on(
    repositories: Sequence[Repository], paths: Sequence[Path], destination: Destination, run: Run | None = None
) -> Report:
    """As :func:`check`, of repositories that were read; the pyproject.toml nearest to ``paths`` counts.

    Args:
        run: runs the models, given the faults that count so far.
    """
    found = set(_found(_subjects(repositories, destination), destination, RULES))
    faults, accepted = _split(repositories, destination, found, RULES)
    faults, ignored = split_ignored(faults, paths)
    if run:
        probes = ((Scope.PROBE, probe, probe.repository.place()) for probe in run(repositories, faults))
        found.update(_found(probes, destination, RULES))
        faults, accepted = _split(repositories, destination, found, RULES)
        faults, ignored = split_ignored(faults, paths)
    sources = Sources(repositories)

    def with_line(fault: Fault) -> Fault:
        return replace(fault, line_text=sources.line(fault.place))

    apart = sorted([*accepted, *ignored], key=lambda acceptance: acceptance.fault.sort_key())
    return Report(
        tuple(with_line(fault) for fault in sorted(faults, key=Fault.sort_key)),
        tuple(repository.shown for repository in repositories),
        tuple(replace(acceptance, fault=with_line(acceptance.fault)) for acceptance in apart),
    )


def check_repositories(
    repositories: Sequence[Repository], destination: Destination, rules: Iterable[Rule] = RULES
) -> Iterator[Fault]:
    """Every fault that no comment accepts, in no particular order."""
    rules = list(rules)
    found = set(_found(_subjects(repositories, destination), destination, rules))
    yield from _split(repositories, destination, found, rules)[0]


def found_in(model: Model) -> frozenset[Fault]:
    """Return what the rules about single models find in ``model``, whether it counts or not."""
    return frozenset(_found([(Scope.MODEL, model, model.place())], ANYWHERE, RULES))


def that_count(repository: Repository, of_models: Iterable[Fault]) -> list[Fault]:
    """The faults that count of those found in single models, and those of all the models together.

    Raises:
        EnsembleError: a pyproject.toml is wrong.
    """
    found = {*of_models, *_found(_around([repository], ANYWHERE), ANYWHERE, RULES)}
    return split_ignored(_split([repository], ANYWHERE, found, RULES)[0], [repository.path])[0]


def _split(
    repositories: Sequence[Repository], destination: Destination, faults: set[Fault], rules: Sequence[Rule]
) -> tuple[list[Fault], tuple[Accepted, ...]]:
    """The faults that count, with those about comments, and those that comments accept."""
    archives = [repository for repository in repositories if repository.is_archive]
    packed = [comment for archive in archives for comment in suppressions_of(archive)]
    folders = [repository for repository in repositories if not repository.is_archive]
    outcome = split(faults, [comment for folder in folders for comment in suppressions_of(folder)], packed)
    later = _found([(Scope.FOUND, outcome, repositories[0].place())], destination, rules)
    return [*outcome.faults, *later], outcome.accepted


def _found(subjects: Iterable[Subject], destination: Destination, rules: Iterable[Rule]) -> Iterator[Fault]:
    of_scope: dict[Scope, list[Rule]] = defaultdict(list)
    for rule in rules:
        of_scope[rule.scope].append(rule)
    for scope, subject, place in subjects:
        for rule in of_scope[scope]:
            yield from _guarded(rule, subject, destination, place)


def _subjects(repositories: Sequence[Repository], destination: Destination) -> Iterator[Subject]:
    # A model after the other: what its files hold, and what its code means, is only kept while rules ask for it.
    for repository in repositories:
        for model in repository.models_read:
            yield Scope.MODEL, model, model.place()
    yield from _around(repositories, destination)


def _around(repositories: Sequence[Repository], destination: Destination) -> Iterator[Subject]:
    """The subjects that are no single models."""
    first = repositories[0].place()
    yield Scope.DESTINATION, destination, first
    yield Scope.ENDPOINT, tuple(repositories), first
    for repository in repositories:
        yield Scope.REPOSITORY, repository, repository.place()


def _no_model(path: Path) -> EnsembleError:
    files = (file for pattern in ("*", "*/*") for file in sorted(path.glob(pattern)) if file.is_file())
    near = [file for file in files if is_near_config(file.name)]
    name_one = "name the model repository (the folder whose folders are the models) or a .tar.gz"
    cure = f"rename {shown(near[0])} to {CONFIG}" if near else name_one
    message = f"there is no model here: neither this folder nor one below it has a {CONFIG}"
    return EnsembleError(message, path=path, cure=cure)


def _guarded(rule: Rule, subject: Any, destination: Destination, place: Place) -> Sequence[Fault]:
    """A rule that fails on odd input must not hide what the others found."""
    try:
        faults = list(islice(rule.faults(subject, destination), _MOST_FAULTS + 1))
        if not faults:
            return ()
        if len(faults) > _MOST_FAULTS:
            faults[_MOST_FAULTS - 1 :] = [replace(faults[-2], message=f"{faults[-2].message} (and more like it)")]
        if _loses_others(rule, subject, destination):
            faults = [_with_loss(fault, subject) if _is_at_load(fault) else fault for fault in faults]
        return [_printable(fault) for fault in faults]
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        message = escaped(f"this rule itself failed: {type(error).__name__}: {error}")
        effect = "the fault that it looks for may be here or not"
        cure = f"this is a bug of the checker ({Path(where.filename).name}:{where.lineno}): please report it"
        return [Fault(Severity.ERROR, rule.id, place, message, effect, cure)]


def _loses_others(rule: Rule, subject: Any, destination: Destination) -> bool:
    """Return whether a tritonserver in its default mode, which loads every folder, serves no other model through this
    fault: it stops with 'failed to load all models'. SageMaker loads models one by one."""
    if rule.server is not Server.REFUSES or not isinstance(subject, Model) or destination.instance:
        return False
    return subject.repository.form is Form.FOLDER and len(subject.repository.models) > 1


def _is_at_load(fault: Fault) -> bool:
    """Return whether the model surely does not load: some rules also find what fails when a line of model.py runs."""
    return fault.severity is Severity.ERROR and not fault.effect.startswith(_LATER)


def _with_loss(fault: Fault, subject: Model) -> Fault:
    count = len(subject.repository.models) - 1
    models = "the other model" if count == 1 else f"the other {count:,} models"
    loss = f"in its default mode the server does not start, so {models} {'is' if count == 1 else 'are'} also lost"
    return replace(fault, effect=f"{fault.effect}; {loss}" if fault.effect else loss)


def _printable(fault: Fault) -> Fault:
    """Names in an archive may be anything."""
    texts = (fault.message, fault.effect, fault.cure)
    cut = (text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…" for text in texts)
    message, effect, cure = map(escaped, cut)
    return replace(fault, message=message, effect=effect, cure=cure)
