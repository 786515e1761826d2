"""The report of a fault, with its place, its effect and its cure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from triton_ensembles.ground.errors import escaped


class Severity(StrEnum):
    """An error stops the build and makes ``check`` exit 1; warnings and notes do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, order=True)
class Place:
    """A file, as people write it (``a.tar.gz!step/config.pbtxt`` inside an archive; as text, odd letters are escaped),
    and a position in it. ``line`` and ``column`` count from 1; 0 means the file (or folder) as a whole."""

    path: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join([escaped(self.path), *(str(number) for number in (self.line, self.column) if number)])


def is_in(path: str, folder: str) -> bool:
    """Return whether a place's path is that of a folder or an archive, or of something in it."""
    return path == folder or path.startswith((f"{folder}/", f"{folder}!"))


class Edit(NamedTuple):
    """A part of a file's text, as offsets of characters, and what to write instead of it."""

    start: int
    end: int
    text: str


def with_edits(text: str, edits: Iterable[Edit]) -> str:
    """``text`` after ``edits``, none of which touches another."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


@dataclass(frozen=True)
class Finding:
    """A fault as a rule's function yields it; the rule itself adds its id."""

    place: Place  # where to apply the cure
    message: str  # what is wrong, one sentence without a full stop
    # What Triton or SageMaker does with it, in the server's own words where they are known; by default the rule's words
    effect: str = ""
    cure: str = ""  # what to write instead
    severity: Severity | None = None  # where it is not that of the rule
    edits: tuple[Edit, ...] = ()  # the cure for ``check --fix``, where it is exact: of the file that the place is in
    makes: str = ""  # or an empty file in the folder that the place is


@dataclass(frozen=True)
class Fault:
    """A :class:`Finding` with the rule that found it. ``line_text`` is the line that the place is in, without the
    blanks around it; "" for a file as a whole."""

    severity: Severity
    rule: str
    place: Place
    message: str
    effect: str = ""
    cure: str = ""
    line_text: str = field(default="", compare=False)
    edits: tuple[Edit, ...] = field(default=(), compare=False)
    makes: str = field(default="", compare=False)

    @property
    def notes(self) -> list[str]:
        """The effect and the cure, as far as there are any."""
        return [note for note in (self.effect, self.cure and f"fix: {self.cure}") if note]

    def sort_key(self) -> tuple[Place, str, str]:
        return (self.place, self.rule, self.message)
