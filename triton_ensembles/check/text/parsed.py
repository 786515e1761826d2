"""The result of reading a config.pbtxt: the message, its faults, and the offset of every field."""

from dataclasses import dataclass, field
from typing import NamedTuple

from google.protobuf.message import Message

Path = tuple[str | int | bool, ...]  # of a field: names, indices of lists, keys of maps


class TextFault(NamedTuple):
    """A fault of the text itself; ``rule`` is the id of the rule that reports it."""

    rule: str
    offset: int
    message: str
    cure: str


@dataclass
class Parsed:
    """The message as complete as the text allows, the faults, and the offset of each field."""

    message: Message
    faults: list[TextFault] = field(default_factory=list)
    offsets: dict[Path, int] = field(default_factory=dict)
    damaged: set[Path] = field(default_factory=set)  # whose value is unknown
