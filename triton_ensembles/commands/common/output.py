"""Where output goes: progress to stderr unless --quiet, results to stdout, as text or as one JSON document.

Also the reports that several commands share: failures, and random weights.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from triton_ensembles.archive.manifest import random_weights
from triton_ensembles.ground.errors import EnsembleError, escaped, shown
from triton_ensembles.ground.files import write_file
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

file = click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it into this file instead of printing it.",
)


def write(data: str | bytes, file: Path | None) -> None:
    """Write the result into the file of ``-o``, or print it where there is none."""
    if file is None:
        click.echo(data, nl=False)
        return
    write_file(file, data)
    click.echo(f"wrote {shown(file)}")


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


class Failures:
    """The errors of those among ``count`` ensembles (or ``things``) that failed, while the others are worked on."""

    def __init__(self, count: int, action: str, things: str = "ensembles") -> None:
        self.errors: dict[str, EnsembleError] = {}
        self._count, self._action, self._things = count, action, things

    @contextmanager
    def of(self, name: str, results: list[dict[str, Any]] | None = None) -> Iterator[None]:
        """Note the error that ends this block, and print it where there are several. ``results`` of a command that
        looks at each get it as well; it is then printed as one of them."""
        try:
            yield
        except (EnsembleError, OSError) as caught:
            error = explained(caught) if isinstance(caught, OSError) else caught
            if error is None:
                raise
            self.errors[name] = error
            if results is not None:
                results.append({"name": name, "error": str(error)})
                result(f"{name}: error: {error}")
            elif self._count > 1:
                click.echo(f"[{name}] error: {error}", err=True)

    def records(self, key: str = "name") -> list[dict[str, str]]:
        """For the JSON document."""
        return [{key: name, "error": str(error)} for name, error in self.errors.items()]

    def raise_any(self) -> None:
        """Raise the error of the only one, or the summary."""
        if self.errors and self._count == 1:
            raise next(iter(self.errors.values()))
        if self.errors:
            reasons = [f"\n  {name}: {error.headline}" for name, error in self.errors.items()]
            message = f"{len(self.errors)} of {self._count} {self._things} {self._action}:{''.join(reasons)}"
            raise EnsembleError(message)


def warn_of_random_weights(name: str, *, random: bool) -> None:
    """Print a loud line on stderr if the ensemble called ``name`` has random weights."""
    if random:
        click.secho(random_weights(name), fg="red", bold=True, err=True)
