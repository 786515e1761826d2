"""The options of ``perf``, ``tune``, ``profile`` and ``plan``: requests, how many at a time, for how long, how fast."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from triton_ensembles.commands.common import option_values, options
from triton_ensembles.commands.common.options import Decorator
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.perf.inputs import UserInputs, refuse_unreadable


def _shapes(context: click.Context, parameter: click.Parameter, shapes: tuple[str, ...]) -> tuple[str, ...]:
    for shape in shapes:
        if not re.fullmatch(r".+:\d{1,18}(,\d{1,18})*", shape):
            raise click.BadParameter(f"{shape!r} is not a shape such as IMAGE:3,224,224", context, parameter)
    return shapes


def _readable(context: click.Context, parameter: click.Parameter, data: Path | None) -> Path | None:
    if data:
        try:
            refuse_unreadable(data)
        except EnsembleError as error:
            raise click.BadParameter(str(error), context, parameter) from error
    return data


inputs = options.collected(
    UserInputs,
    "user",
    click.option(
        "--input-data",
        "data",
        type=click.Path(exists=True, path_type=Path),
        callback=_readable,
        help="Send this instead: a JSON file or a folder in the format of perf_analyzer's --input-data.",
    ),
    click.option(
        "--shape",
        "shapes",
        multiple=True,
        metavar="NAME:SIZES",
        callback=_shapes,
        help="Send random data instead, of this shape for an input of variable size, such as IMAGE:3,224,224. "
        "May be repeated.",
    ),
)


def requests(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --protocol, --batch, --input-data and --shape."""
    protocol = click.option("--protocol", type=click.Choice(["grpc", "http"]), default="grpc")
    batch = click.option("--batch", type=click.IntRange(min=1), default=1, help="Rows (inferences) in a request.")
    return protocol(batch(inputs(command)))


def concurrencies(numbers: Sequence[int], help: str) -> Decorator:
    """--concurrency NUMBERS: a tuple of numbers of concurrent requests."""
    return numbers_option("--concurrency", "concurrencies", numbers, 1024, help)


def numbers_option(name: str, variable: str, numbers: Sequence[int], most: int, help: str) -> Decorator:
    """A list such as 1,2,4, each from 1 to ``most``; ``numbers`` by default."""
    default, read = ",".join(map(str, numbers)), option_values.numbers(most)
    return option_values.option(name, variable, metavar="NUMBERS", default=default, read=read, help=help)


def seconds(default: float, help: str = "Duration of a measurement.") -> Decorator:
    """--seconds: of a measurement."""
    kind = click.FloatRange(min=0.3)
    return click.option("--seconds", type=kind, default=default, callback=option_values.finite, help=help)
