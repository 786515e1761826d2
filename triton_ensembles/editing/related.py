"""Which models a change of one concerns."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from triton_ensembles.checking.python.model_calls import callees
from triton_ensembles.checking.repository import Model, Repository
from triton_ensembles.checking.text.unknown import UnknownValueError


def related(repository: Repository, folders: Iterable[str]) -> set[str]:
    """Return the models in ``folders``, those that they run as steps or call, and those that run or call them, directly
    or not: what the rules find in any other does not depend on them."""
    uses = {model.folder: set(_used(model)) for model in repository.models_read}
    users: dict[str, set[str]] = defaultdict(set)
    for user, used in uses.items():
        for name in used:
            users[name].add(user)
    start = set(folders)
    return _reached(uses, start) | _reached(users, start)


def _used(model: Model) -> Iterator[str]:
    with suppress(UnknownValueError):
        yield from (step.model_name for step in model.file.config.ensemble_scheduling.step)
        yield from (callee.folder for callee in callees(model))


def _reached(graph: Mapping[str, set[str]], start: set[str]) -> set[str]:
    reached, waiting = set(start), list(start)
    while waiting:
        new = graph.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached
