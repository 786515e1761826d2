"""A use of one of Triton's objects that Python refuses."""

from typing import NamedTuple

from triton_ensembles.checking.fault import Finding, Place, Severity
from triton_ensembles.checking.python.flow import When


class Misuse(NamedTuple):
    """A message about the use, the error that Python raises, and the cure."""

    message: str
    error: str
    cure: str

    def finding(self, place: Place, when: When, is_certain: bool) -> Finding:
        """The finding of a line that runs at ``when``: a warning where it is not certain that it ever does."""
        severity = None if is_certain else Severity.WARNING
        return Finding(place, self.message, f"{when.effect}: {self.error}", self.cure, severity)
