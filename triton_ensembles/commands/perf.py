"""``perf``"""

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from triton_ensembles.building.built import choose
from triton_ensembles.building.plan import find_ensemble, read_models
from triton_ensembles.commands import options
from triton_ensembles.commands import output as output_of
from triton_ensembles.commands.builds import build_all
from triton_ensembles.commands.reports import summary_of
from triton_ensembles.errors import EnsembleError, shown
from triton_ensembles.perf.inputs import UserInputs
from triton_ensembles.perf.report import tables
from triton_ensembles.perf.report_files import SUFFIXES
from triton_ensembles.perf.sweep import CONCURRENCIES, SECONDS, measure


def _numbers(context: click.Context, parameter: click.Parameter, text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < 1:
        raise click.BadParameter(f"{text!r} is not a list such as 1,2,4", context, parameter)
    return numbers


def _shapes(context: click.Context, parameter: click.Parameter, shapes: tuple[str, ...]) -> tuple[str, ...]:
    for shape in shapes:
        if not re.fullmatch(r".+:\d+(,\d+)*", shape):
            raise click.BadParameter(f"{shape!r} is not a shape such as IMAGE:3,224,224", context, parameter)
    return shapes


def _refuse_wrong_inputs(folders: Sequence[Path], shapes: Sequence[str]) -> None:
    """Before anything is built: --input-data and --shape are for one ensemble, and the inputs must exist."""
    if len(folders) > 1:
        raise click.UsageError("--input-data and --shape are for one ensemble: name it")
    models = read_models(folders[0])
    inputs = {tensor.name: list(tensor.dims) for tensor in models[find_ensemble(folders[0], models)].input}
    for shape in shapes:
        name, _, text = shape.rpartition(":")
        if name not in inputs:
            raise click.UsageError(f"--shape: {folders[0].name} has no input '{name}'; it has {', '.join(inputs)}")
        sizes, dims = list(map(int, text.split(","))), inputs[name]
        if len(sizes) != len(dims) or any(dim not in (-1, size) for size, dim in zip(sizes, dims, strict=True)):
            raise click.UsageError(f"--shape: {name} has the dims {dims}, without the batch axis, and not {sizes}")


@click.command()
@options.building
@options.for_target
@output_of.quiet
@output_of.json_format
@click.option(
    "--concurrency",
    "concurrencies",
    default=",".join(map(str, CONCURRENCIES)),
    callback=_numbers,
    help="Numbers of concurrent requests, one point of the sweep each.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.3),
    default=SECONDS,
    help="Duration of a point; longer where an answer takes longer than a third of it.",
)
@click.option("--protocol", type=click.Choice(["grpc", "http"]), default="grpc")
@click.option("--batch", type=click.IntRange(min=1), default=1, help="Rows (inferences) in a request.")
@click.option(
    "--input-data",
    type=click.Path(exists=True, path_type=Path),
    help="Send this instead: a JSON file or a folder in the format of perf_analyzer's --input-data.",
)
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="NAME:SIZES",
    callback=_shapes,
    help="Send random data instead, of this shape for an input of variable size, such as IMAGE:3,224,224. "
    "May be repeated.",
)
@click.option(
    "--output",
    type=options.NEW_FOLDER,
    help="The folder for NAME.csv, NAME.json and NAME.png.  [default: reports/perf, fused: reports/perf/fused]",
)
def perf(
    names: tuple[str, ...],
    weights: str,
    weights_dir: Path | None,
    *,
    target: str,
    image: str,
    instance: str,
    concurrencies: Sequence[int],
    seconds: float,
    protocol: str,
    batch: int,
    input_data: Path | None,
    shapes: tuple[str, ...],
    output: Path | None,
) -> None:
    """Build, then measure each ensemble with perf_analyzer: concurrency sweep, time by step, CSV, JSON and a plot.

    The steps of a drawn ensemble have queues; a fused one has only its own.

    --format json: {"reports": [what NAME.json holds], "failed": [{name, error}]}
    """
    served = options.target_served_here(target, image, instance)
    places = options.current_places()
    if input_data or shapes:
        _refuse_wrong_inputs(choose(places.ensembles, names, leading=True), shapes)
    built = build_all(names, weights, weights_dir, served)
    output = output or places.reports / "perf" / (served.name if served.fuses else "")
    failed: dict[str, EnsembleError] = {}
    reports = measure(
        {each.name: each.repository for each in built},
        ensembles=places.ensembles,
        concurrencies=concurrencies,
        output=output,
        seconds=seconds,
        protocol=protocol,
        batch=batch,
        user=UserInputs(input_data, shapes),
        progress=output_of.progress(),
        log=places.build / "tritonserver.log",
        failed=failed if len(built) > 1 else None,
    )
    failures = [{"name": name, "error": str(error)} for name, error in failed.items()]
    output_of.document({"reports": [asdict(report) for report in reports], "failed": failures})
    for report in reports:
        output_of.result(f"\n{report.name}", bold=True)
        output_of.result(tables(report))
        output_of.result("  ".join(shown(output / f"{report.name}{suffix}") for suffix in SUFFIXES))
    if failed:
        raise EnsembleError(summary_of(failed, len(built), "could not be measured"))
