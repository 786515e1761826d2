"""The identity of a fault, which it keeps when lines are moved or the checker's wording changes."""

import hashlib
import json
import re
from dataclasses import dataclass

from triton_ensembles.checking.fault import Fault
from triton_ensembles.ground.errors import escaped

_LONGEST = 120  # letters of a line
_QUOTED = re.compile(r"(?<!\w)'([^']*)'(?!\w)")  # not the apostrophes of "the model's"


@dataclass(frozen=True, order=True)
class Fingerprint:
    """The identity of a fault within its file; several faults may share it."""

    rule: str  # its id
    line: str  # the text of its line, with single blanks; "" for a file as a whole
    names: tuple[str, ...]  # what the message has in quotes, such as tensors and steps

    @property
    def digest(self) -> str:
        """64 hexadecimal digits."""
        return hashlib.sha256(json.dumps([self.rule, self.line, self.names]).encode()).hexdigest()


def fingerprint(fault: Fault) -> Fingerprint:
    return Fingerprint(fault.rule, _short(" ".join(fault.line_text.split())), tuple(_QUOTED.findall(fault.message)))


def _short(line: str) -> str:
    """The line itself, or its beginning and a digest of the whole."""
    if len(line) <= _LONGEST:
        return escaped(line)
    return f"{escaped(line[:_LONGEST])}… {hashlib.sha256(line.encode('utf-8', 'replace')).hexdigest()[:16]}"
