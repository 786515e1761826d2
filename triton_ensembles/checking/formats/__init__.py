"""How a report is printed: for people, for programs and for the services that run checks."""

from collections.abc import Callable
from importlib import import_module

from triton_ensembles.checking.check_report import Report

FORMATS = ("text", "json", "github", "sarif", "junit")


def printed(style: str, report: Report, seconds: float) -> str:
    """The report of a check that took ``seconds``, as one of FORMATS: each is a module here with this function."""
    print_as: Callable[[Report, float], str] = import_module(f"{__name__}.{style}").printed
    return print_as(report, seconds)
