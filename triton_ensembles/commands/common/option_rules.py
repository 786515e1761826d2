"""Options of a command that exclude or need others, declared beside them, and checked before the command runs."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click
from click.core import ParameterSource

from triton_ensembles.commands.common.options import Decorator


def excludes(option: str, *others: str, because: str = "") -> Decorator:
    """Refuse each of ``others`` beside ``option``, as they are written: "--single", "--no-cache", "ARCHIVE"."""

    def check(given: set[str]) -> None:
        refused = [other for other in others if option in given and other in given]
        if refused:
            raise click.UsageError(f"{option} excludes {' and '.join(refused)}{because and f': {because}'}")

    return _before(check)


def needs(option: str, other: str, because: str = "") -> Decorator:
    """Refuse ``option`` without ``other``."""

    def check(given: set[str]) -> None:
        if option in given and other not in given:
            raise click.UsageError(f"{option} goes with {other}{because and f': {because}'}")

    return _before(check)


def _before(check: Callable[[set[str]], None]) -> Decorator:
    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def checked(*context: click.Context, **values: Any) -> Any:
            check(_given(click.get_current_context()))
            return command(*context, **values)

        return checked

    return add


def _given(context: click.Context) -> set[str]:
    """The arguments and options that were written on the command line; of a pair of flags the one that was."""
    written = set()
    for parameter in context.command.params:
        name = parameter.name or ""
        value = context.params.get(name)
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE and value != ():
            written.add(parameter.secondary_opts[0] if parameter.secondary_opts and not value else _spelled(parameter))
    return written


def _spelled(parameter: click.Parameter) -> str:
    """Return the option, or an argument's metavar without the brackets and dots that say how often it comes."""
    if isinstance(parameter, click.Option):
        return parameter.opts[0]
    return parameter.human_readable_name.removeprefix("[").removesuffix("]...")
