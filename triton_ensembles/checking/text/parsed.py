"""The result of reading a config.pbtxt: the message, its faults, and the offset of every field."""

from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

from google.protobuf.message import Message

from triton_ensembles.checking.fault import Edit

Path = tuple[str | int | bool, ...]  # of a field: names, indices of lists, keys of maps


# The rules about what protobuf reads: Triton takes the last of two entries, and text that is not UTF-8.
HARMLESS = frozenset({"config-map-key-twice", "config-not-utf8", "config-template-in-string"})


class TextFault(NamedTuple):
    """A fault of the text itself; ``rule`` is the id of the rule that reports it."""

    rule: str
    offset: int
    message: str
    cure: str
    edits: tuple[Edit, ...] = ()  # which are exactly the cure


@dataclass
class Parsed:
    """The message as complete as the text allows, the faults, and the offset of each field."""

    message: Message
    faults: list[TextFault] = field(default_factory=list)
    offsets: dict[Path, int] = field(default_factory=dict)
    items: dict[Path, "array[int]"] = field(default_factory=dict)  # the offsets of a list's values, by its path
    damaged: set[Path] = field(default_factory=set)  # whose value is unknown

    @property
    def refused(self) -> bool:
        """Return whether protobuf refuses the text."""
        return () in self.damaged or any(fault.rule not in HARMLESS for fault in self.faults)

    def offset(self, path: Path) -> int | None:
        """Return where the field, entry or item at ``path`` begins; None when the text does not have it."""
        offset = self.offsets.get(path)
        if offset is None and path and (items := self.items.get(path[:-1])) is not None:
            index = path[-1]
            return items[index] if isinstance(index, int) and index < len(items) else None
        return offset
