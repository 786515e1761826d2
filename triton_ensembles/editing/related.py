"""Which models a change of one concerns."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from triton_ensembles.checking.python.model_calls import needed
from triton_ensembles.checking.repository import Model, Repository
from triton_ensembles.checking.text.unknown import UnknownValueError


def related(repository: Repository, folders: Iterable[str]) -> set[str]:
    """Return the models in ``folders``, those that they need, and those that need them, directly or not: what the rules
    find in any other does not depend on them."""
    uses = {model.folder: _needed(model) for model in repository.models_read}
    users: dict[str, set[str]] = {folder: set() for folder in uses}
    for user, used in uses.items():
        for folder in used:
            users[folder].add(user)
    start = set(folders)
    return _reached(uses, start) | _reached(users, start)


def _needed(model: Model) -> set[str]:
    with suppress(UnknownValueError):
        return {each.folder for each in needed(model)}
    return set()


def _reached(graph: Mapping[str, set[str]], start: set[str]) -> set[str]:
    reached, new = set(start), start
    while new:
        new = {folder for reader in new for folder in graph.get(reader, ())} - reached
        reached |= new
    return reached
