"""Where output goes: progress to stderr unless --quiet, results to stdout, as text or as one JSON document.

Also the reports that several commands share: failures, and random weights.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from triton_ensembles.archive.manifest import random_weights
from triton_ensembles.ground.errors import EnsembleError, escaped
from triton_ensembles.ground.system_errors import explained

_QUIET, _JSON, _PRINTED = (f"{__name__}.{name}" for name in ("quiet", "json", "printed"))


def _note(key: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def note(context: click.Context, _parameter: click.Parameter, value: Any) -> None:
        context.meta[key] = value in (True, "json")

    return note


quiet = click.option("--quiet", is_flag=True, expose_value=False, callback=_note(_QUIET), help="No progress on stderr.")
json_format = click.option(
    "--format",
    type=click.Choice(["text", "json"]),
    default="text",
    expose_value=False,
    callback=_note(_JSON),
    help="How to print the result. json: one JSON document on stdout, and nothing else there; that of a command that "
    'fails as a whole is {"error": text}.',
)


def progress() -> Callable[[str], None]:
    """Prints a line on stderr, from any thread; nothing with --quiet."""
    silent = _is_set(_QUIET)
    return lambda line: None if silent else click.echo(escaped(line, lines=True), err=True)


def result(line: str, **style: Any) -> None:
    """Print a line of a result as text; nothing with --format json."""
    if not _is_set(_JSON):
        click.secho(escaped(line, lines=True), **style)


def document(value: dict[str, Any]) -> None:
    """Print the result as JSON, with --format json."""
    if _is_set(_JSON):
        click.get_current_context().meta[_PRINTED] = True
        click.echo(json.dumps(value, indent=2, default=str))


def failure(error: Exception) -> None:
    """Print the error as the document, with --format json, of a command that ended before it printed its own."""
    if not _is_set(_PRINTED):
        document({"error": str(error)})


def _is_set(key: str) -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(key))


def summary_of(failed: Mapping[str, EnsembleError], count: int, action: str, things: str = "ensembles") -> str:
    """Summary of the failures among ``count`` ensembles (or ``things``): a line for each, with the reason."""
    reasons = [f"\n  {name}: {error.headline}" for name, error in failed.items()]
    return f"{len(failed)} of {count} {things} {action}:{''.join(reasons)}"


class Failures:
    """The errors of those among ``count`` ensembles (or ``things``) that failed, while the others are worked on."""

    def __init__(self, count: int, action: str, things: str = "ensembles") -> None:
        self.errors: dict[str, EnsembleError] = {}
        self._count, self._action, self._things = count, action, things

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Note the error that ends this block, and print it where there are several."""
        try:
            yield
        except (EnsembleError, OSError) as caught:
            error = explained(caught) if isinstance(caught, OSError) else caught
            if error is None:
                raise
            self.errors[name] = error
            if self._count > 1:
                click.echo(f"[{name}] error: {error}", err=True)

    def records(self, key: str = "name") -> list[dict[str, str]]:
        """For the JSON document."""
        return [{key: name, "error": str(error)} for name, error in self.errors.items()]

    def raise_any(self) -> None:
        """Raise the error of the only one, or the summary."""
        if self.errors and self._count == 1:
            raise next(iter(self.errors.values()))
        if self.errors:
            raise EnsembleError(summary_of(self.errors, self._count, self._action, self._things))


def warn_of_random_weights(name: str, *, random: bool) -> None:
    """Print a loud line on stderr if the ensemble called ``name`` has random weights."""
    if random:
        click.secho(random_weights(name), fg="red", bold=True, err=True)
