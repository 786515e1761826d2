"""A field in the wrong message, and the edits that move it behind the field that is around it."""

import re
from dataclasses import dataclass

from triton_ensembles.checking.fault import Edit

_REST_OF_LINE = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=\r?\n|\Z)")
_BLANK_REST = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_INDENT = re.compile(r"[ \t]*")


@dataclass
class Move:
    """The fault with the index ``fault`` is a field that begins at ``start`` and belongs ``level`` messages deep."""

    fault: int
    level: int
    start: int
    value_end: int = 0
    end: int = 0  # with the comma behind it

    def edits(self, text: str, around: int, around_end: int) -> tuple[Edit, ...]:
        """The field at ``around``, which ends at ``around_end``, is the one that this field leaves."""
        line_start = text.rfind("\n", 0, self.start) + 1
        own_indent = _indent(text, line_start)
        indent = _indent(text, text.rfind("\n", 0, around) + 1)
        first, *more = text[self.start : self.value_end].split("\n")
        moved = "\n".join([first, *(indent + line.removeprefix(own_indent) for line in more)])
        newline = "\r\n" if "\r\n" in text else "\n"
        rest = _REST_OF_LINE.match(text, around_end)
        place, new = (rest.end(), f"{newline}{indent}{moved}") if rest else (around_end, f" {moved} ")
        return (self._deletion(text, line_start), Edit(place, place, new))

    def _deletion(self, text: str, line_start: int) -> Edit:
        before = text[line_start : self.start]
        blank = _BLANK_REST.match(text, self.end)
        if not before.strip() and blank:
            return Edit(line_start, blank.end(), "")
        if self.end == self.value_end and before.rstrip().endswith((",", ";")) and "#" not in before:
            return Edit(line_start + len(before.rstrip()) - 1, self.end, "")
        if self.end > self.value_end or before.endswith(" "):  # one of the two blanks around it is left
            return Edit(self.start, self.end + text.startswith(" ", self.end), "")
        return Edit(self.start, self.end, "")


def _indent(text: str, line_start: int) -> str:
    match = _INDENT.match(text, line_start)
    return match[0] if match else ""
