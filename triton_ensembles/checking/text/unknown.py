"""Values that could not be read: a rule that asks for one stops there, so that nothing is concluded from it.

A view shows a message, list or map of which some parts are unknown. It answers as protobuf does; asking for an unknown
part raises :class:`UnknownValueError`, which ends the rule for its subject (see :meth:`Rule.faults`). A rule with
several subjects of its own, such as all inputs, continues with the next one by :func:`contextlib.suppress`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from google.protobuf.message import Message

from triton_ensembles.checking.text.parsed import Path


class UnknownValueError(Exception):
    """The value is in a part of a file that could not be read."""


_Tree = dict[str | int | bool | None, "_Tree"]  # of paths; None is the end of one


def view(value: Any, unknown: Set[Path]) -> Any:
    """``value`` itself when all of it is known; ``unknown`` has the paths of the other parts, relative to it."""
    tree: _Tree = {}
    for path in unknown:
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        node[None] = {}
    return _view(value, tree)


def _view(value: Any, unknown: _Tree | None) -> Any:
    if not unknown:
        return value
    if None in unknown:
        raise UnknownValueError
    if isinstance(value, Message):
        return _MessageView(value, unknown)
    return _MapView(value, unknown) if hasattr(value, "GetEntryClass") else _ListView(value, unknown)


class _View:
    def __init__(self, value: Any, unknown: _Tree) -> None:
        self._value = value
        self._unknown = unknown

    def _part(self, name: str | int | bool, value: Any) -> Any:
        """``value``, the part of this name; raises where it is unknown as a whole."""
        return _view(value, self._unknown.get(name))


class _MessageView(_View):
    def __getattr__(self, name: str) -> Any:
        return self._part(name, getattr(self._value, name))

    def HasField(self, name: str) -> bool:  # noqa: N802  # protobuf's name
        self._part(name, None)
        return bool(self._value.HasField(name))

    def WhichOneof(self, name: str) -> str | None:  # noqa: N802
        for field in self._value.DESCRIPTOR.oneofs_by_name[name].fields:
            self._part(field.name, None)
        set_field = self._value.WhichOneof(name)
        return None if set_field is None else str(set_field)


class _ListView(_View, Sequence[Any]):
    def __len__(self) -> int:
        return len(self._value)

    def __getitem__(self, index: Any) -> Any:
        return self._part(range(len(self._value))[index], self._value[index])


class _MapView(_View, Mapping[Any, Any]):
    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._value)

    def __contains__(self, key: object) -> bool:
        return key in self._value

    def __getitem__(self, key: Any) -> Any:
        if key not in self._value:
            raise KeyError(key)
        self._part(key, None)
        return _view(self._value[key], self._unknown.get(key, {}).get("value"))
