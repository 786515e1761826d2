"""Rules that are one condition on a field of config.pbtxt, written as the rows of a table."""

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any

from triton_ensembles.checking.config_tensors import repeated
from triton_ensembles.checking.rule import Finding, Model, rule
from triton_ensembles.checking.text.unknown import UnknownValueError

Path = tuple[str | int, ...]
Items = Callable[[Model], Iterable[tuple[Path, Any]]]  # messages of the config, each with its path


def items(field: str) -> Items:
    """The messages of a repeated field, such as ``sequence_batching.state``."""
    path, read = tuple(field.split(".")), attrgetter(field)
    return lambda model: (((*path, index), item) for index, item in enumerate(read(model.config)))


def namesakes(field: str) -> Items:
    """The names of the messages of a repeated field that an earlier one has."""
    path, read = tuple(field.split(".")), attrgetter(field)
    return lambda model: (((*path, index), name) for index, name in repeated(item.name for item in read(model.config)))


def field_rule(
    id: str,
    title: str,
    *,
    at: str | tuple[Items | str, str],
    when: Callable[[Any], object],
    says: str,
    cure: str,
    effect: str = "",
    models: Callable[[Model], object] = lambda _: True,
    **about: Any,
) -> None:
    """Register a rule about a field that is wrong, with the SOURCE and the GOOD example of the module of ``when``.

    Args:
        id, title, about: as :func:`rule` takes them.
        at: the field of the config; or a repeated field (or :data:`Items`) and the field of each item, "" for itself.
        when: what is wrong with an item (of a field of the config: with the ModelConfig); what is false is right, and
            so is an item whose values are unknown.
        models: whether a model is one that the rule is about.
        says, cure, effect: as in :class:`Finding`, with ``{item}``, its ``{path}``, its ``{name}`` (see :func:`_name`),
            and what is ``{wrong}``.
    """
    where, field = at if isinstance(at, tuple) else (_config, at)
    walk = items(where) if isinstance(where, str) else where
    parts = [int(part) if part.isdigit() else part for part in field.split(".")] if field else []

    def find(model: Model) -> Iterator[Finding]:
        for path, item in walk(model) if models(model) else ():
            try:
                if not (wrong := when(item)):
                    continue
                words = {"item": item, "path": path, "name": _name(path, item), "wrong": wrong}
                message, outcome, fix = (text.format(**words) for text in (says, effect, cure))
            except UnknownValueError:
                continue
            yield Finding(model.at(*path, *parts), message, outcome, fix)

    find.__module__ = when.__module__
    rule(title, id=id, **about)(find)


def _name(path: Path, item: Any) -> str:
    """The key of an item in its map; else its name, or number."""
    match path:
        case (*_, str(key)):
            return key
        case (*_, int(index)):
            return getattr(item, "name", "") or f"number {index + 1}"
    return ""


def _config(model: Model) -> Iterable[tuple[Path, Any]]:
    return (((), model.config),)
