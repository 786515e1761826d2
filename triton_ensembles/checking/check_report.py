"""The findings of ``check``, for the formats to print."""

from dataclasses import dataclass

from triton_ensembles.checking.baseline import Entry
from triton_ensembles.checking.fault import Fault, Severity
from triton_ensembles.checking.suppression.accepted import Accepted


@dataclass(frozen=True)
class Report:
    """The faults, sorted by place."""

    faults: tuple[Fault, ...]  # those that count
    roots: tuple[str, ...]  # the paths of the repositories that were looked at, as people see them
    accepted: tuple[Accepted, ...] = ()  # faults that a comment or pyproject.toml accepts
    known: tuple[Fault, ...] | None = None  # faults that the baseline has; None without a baseline
    gone: tuple[Entry, ...] = ()  # what the baseline has and this check did not find
    strict: bool = False  # whether warnings also fail

    @property
    def repositories(self) -> int:
        return len(self.roots)

    @property
    def errors(self) -> int:
        return sum(fault.severity is Severity.ERROR for fault in self.faults)

    @property
    def warnings(self) -> int:
        return sum(fault.severity is Severity.WARNING for fault in self.faults)

    @property
    def failed(self) -> bool:
        return any(map(self.fails, self.faults))

    def fails(self, fault: Fault) -> bool:
        """Return whether ``check`` exits with 1 because of ``fault``."""
        return fault.severity is Severity.ERROR or (self.strict and fault.severity is Severity.WARNING)
