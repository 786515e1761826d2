"""All the rules over all the repositories of some paths."""

import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from triton_ensembles.check.fault import Fault, Place, Severity
from triton_ensembles.check.registry import RULES
from triton_ensembles.check.repository import Form, Model, Repository, find_repositories
from triton_ensembles.check.rule import ANYWHERE, Rule, Scope, Server
from triton_ensembles.check.rules.repository_folders import is_near_config
from triton_ensembles.errors import EnsembleError, escaped, shown
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.model_config import CONFIG

_MOST_FAULTS = 50  # of one rule in one model


@dataclass(frozen=True)
class Report:
    """The faults, sorted by place, and how many repositories were looked at."""

    faults: tuple[Fault, ...]
    repositories: int

    @property
    def errors(self) -> int:
        return sum(fault.severity is Severity.ERROR for fault in self.faults)

    @property
    def warnings(self) -> int:
        return sum(fault.severity is Severity.WARNING for fault in self.faults)


def check(paths: Sequence[Path], destination: Destination = ANYWHERE) -> Report:
    """Every fault of the repositories at ``paths``. Nothing is executed, imported or unpacked.

    Args:
        paths: model repositories, folders of such, or .tar.gz archives (several: the members of one endpoint).
        destination: the device, the instance and the image that the models are meant for, as far as they are known.

    Raises:
        EnsembleError: when a path does not exist, or there is no model at all.
    """
    repositories: list[Repository] = []
    for path in paths:
        if not path.exists():
            raise EnsembleError("there is no such file or folder", path=path, cure="name a repository or a .tar.gz")
        found = list(find_repositories(path))
        if not found:
            raise _no_model(path)
        repositories += found
    faults = sorted(set(check_repositories(repositories, destination)), key=Fault.sort_key)
    return Report(tuple(faults), len(repositories))


def check_repositories(
    repositories: Sequence[Repository], destination: Destination, rules: Iterable[Rule] = RULES
) -> Iterator[Fault]:
    """Every fault, in no particular order."""
    of_models: list[Rule] = []
    others: list[Rule] = []
    for each in rules:
        (of_models if each.scope is Scope.MODEL else others).append(each)
    # A model after the other: what its files hold is only kept while rules ask for it.
    for repository in repositories:
        for model in repository.models_read:
            for each in of_models:
                yield from _guarded(each, model, destination, model.place())
    for each in others:
        for subject, place in _subjects(each.scope, repositories, destination):
            yield from _guarded(each, subject, destination, place)


def _no_model(path: Path) -> EnsembleError:
    near = [file for pattern in ("*", "*/*") for file in sorted(path.glob(pattern)) if is_near_config(file.name)]
    return EnsembleError(
        f"there is no model here: neither this folder nor one in it has a {CONFIG}",
        path=path,
        cure=f"rename {shown(near[0])} to {CONFIG}"
        if near
        else "name the model repository (the folder whose folders are the models) or a .tar.gz",
    )


def _subjects(
    scope: Scope, repositories: Sequence[Repository], destination: Destination
) -> Iterator[tuple[Any, Place]]:
    if scope is Scope.DESTINATION:
        yield destination, repositories[0].place()
    elif scope is Scope.ENDPOINT:
        yield tuple(repositories), repositories[0].place()
    else:
        for repository in repositories:
            yield repository, repository.place()


def _guarded(each: Rule, subject: Any, destination: Destination, place: Place) -> Iterator[Fault]:
    """A rule that fails on odd input must not hide what the others found."""
    try:
        found = list(islice(each.faults(subject, destination), _MOST_FAULTS + 1))
        if len(found) > _MOST_FAULTS:
            found[_MOST_FAULTS - 1 :] = [replace(found[-2], message=f"{found[-2].message} (and more like it)")]
        if found and _loses_others(each, subject, destination):
            found = [_with_loss(fault, subject) for fault in found]
        yield from map(_printable, found)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        yield Fault(
            Severity.ERROR,
            each.id,
            place,
            escaped(f"this rule itself failed: {type(error).__name__}: {error}"),
            "the fault that it looks for may be here or not",
            f"this is a bug of the checker ({Path(where.filename).name}:{where.lineno}): please report it",
        )


def _loses_others(each: Rule, subject: Any, destination: Destination) -> bool:
    """Whether a tritonserver in its default mode, which loads every folder, serves no other model through this fault:
    it stops with 'failed to load all models'. SageMaker loads models one by one."""
    refused = each.server is Server.REFUSES and each.severity is Severity.ERROR
    if not refused or not isinstance(subject, Model) or destination.instance:
        return False
    return subject.repository.form is Form.FOLDER and len(subject.repository.models) > 1


def _with_loss(fault: Fault, subject: Model) -> Fault:
    others = len(subject.repository.models) - 1
    models = "the other model" if others == 1 else f"the other {others:,} models"
    loss = f"in its default mode the server does not start, so {models} {'is' if others == 1 else 'are'} lost too"
    return replace(fault, effect=f"{fault.effect}; {loss}" if fault.effect else loss)


def _printable(fault: Fault) -> Fault:
    """Names in an archive may be anything."""
    place = replace(fault.place, path=escaped(fault.place.path))
    message, effect, cure = map(escaped, (fault.message, fault.effect, fault.cure))
    return replace(fault, place=place, message=message, effect=effect, cure=cure)
