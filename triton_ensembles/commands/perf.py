"""``perf``"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from triton_ensembles.building.built import choose
from triton_ensembles.building.places import Weights
from triton_ensembles.building.planned.plan import find_ensemble, read_models
from triton_ensembles.commands.common import options, request_options
from triton_ensembles.commands.common import output as output_of
from triton_ensembles.commands.common.arguments import Chosen, argument, chosen
from triton_ensembles.commands.common.builds import serve_all, server_for
from triton_ensembles.ground.errors import shown
from triton_ensembles.measuring.perf.sweep import CONCURRENCIES, SECONDS, Load, measure
from triton_ensembles.measuring.perf.sweep_report import SUFFIXES, Report, tables
from triton_ensembles.project.examples.place import examples_folder
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.server.home import Installation
from triton_ensembles.server.server_command import Reach
from triton_ensembles.serving.served import Served
from triton_ensembles.triton.model_config import ModelConfig


def _refuse_several(count: int) -> None:
    if count > 1:
        raise click.UsageError("--input-data and --shape are for one ensemble: name it")


def _refuse_wrong_shapes(name: str, config: ModelConfig, shapes: Sequence[str]) -> None:
    inputs = {tensor.name: list(tensor.dims) for tensor in config.input}
    for shape in shapes if inputs else ():  # Triton may complete a config without any
        input_name, _, text = shape.rpartition(":")
        if input_name not in inputs:
            raise click.UsageError(f"--shape: {name} has no input '{input_name}'; it has {', '.join(inputs)}")
        sizes, dims = list(map(int, text.split(","))), inputs[input_name]
        if len(sizes) != len(dims) or any(dim not in (-1, size) for size, dim in zip(sizes, dims, strict=True)):
            message = f"--shape: {input_name} has the dims {dims}, without the batch axis, and not {sizes}"
            raise click.UsageError(message)


def _refuse_wrong_inputs(selected: Chosen, shapes: Sequence[str]) -> None:
    """Refuse --input-data and --shape, before anything is built, for several ensembles or inputs that do not exist."""
    folders = choose(options.current_places().ensembles, selected.ensembles, leading=True) if selected.builds else []
    _refuse_several(len(folders) + len(selected.paths))
    for folder in folders:
        models = read_models(folder)
        _refuse_wrong_shapes(folder.name, models[find_ensemble(folder, models)], shapes)


def _refuse_wrong_inputs_of(measured: Mapping[str, tuple[Path, Path]], shapes: Sequence[str]) -> None:
    """Refuse them again for what is served, which is known now also of what lay at a path."""
    _refuse_several(len(measured))
    for name, (repository, _) in measured.items():
        _refuse_wrong_shapes(name, read_models(repository)[name], shapes)


def _measured(all_served: Sequence[Served]) -> dict[str, tuple[Path, Path]]:
    """The repository of each model that is measured, and the folder that may hold its example requests."""
    models = {}
    for served in all_served:
        is_source = (served.path / RECIPE).is_file()
        for top in served.tops:
            examples = examples_folder(served.path).parent if is_source else served.repository / top
            models[top] = (served.repository, examples)
    return models


@click.command()
@argument
@options.with_weights
@options.for_target
@options.server
@output_of.quiet
@output_of.json_format
@options.collected(
    Load,
    "load",
    request_options.concurrencies(CONCURRENCIES, "Numbers of concurrent requests, one point of the sweep each."),
    request_options.seconds(SECONDS, "Duration of a point; longer where an answer takes longer than a third of it."),
    request_options.requests,
)
@click.option("--output", type=options.NEW_FOLDER, help="Folder.  [default: reports/perf, fused: reports/perf/fused]")
def perf(
    names: tuple[str, ...],
    weights: Weights,
    chosen_target: options.BuildTarget,
    server: Installation | None,
    *,
    load: Load,
    output: Path | None,
) -> None:
    """Measure with perf_analyzer: concurrency sweep, time by step, CSV, JSON and a plot.

    Ensembles, paths and archives are those of serve: ensembles of the project are built first, and what lies at a path
    is measured as it is, each model there that is not a step of an ensemble. What is sent are example requests, from
    examples/ in the folder of the model or ensemble; without any, random data, for which inputs of variable size need
    a --shape. The steps of a drawn ensemble have queues; a fused one has only its own.

    --format json: {"reports": [what NAME.json holds], "failed": [{name, error}]}
    """
    selected = chosen(names)
    served_here = chosen_target.served_here(server)
    if load.user:
        _refuse_wrong_inputs(selected, load.user.shapes)
    output = output or options.reports_folder("perf", served_here)
    with tempfile.TemporaryDirectory(prefix="perf-") as scratch:
        all_served = serve_all(selected, weights, served_here, Path(scratch), server)
        measured = _measured(all_served)
        failures = output_of.Failures(len(measured), "could not be measured")
        if load.user:
            _refuse_wrong_inputs_of(measured, load.user.shapes)
        reports = measure(
            measured,
            load,
            server_for(all_served, reach=Reach.SECRET),
            output=output,
            progress=output_of.progress(),
            failed=failures.errors if len(measured) > 1 else None,
        )
    output_of.document({"reports": [asdict(report) for report in reports], "failed": failures.records()})
    for report in reports:
        _print(report, output)
    failures.raise_any()


def _print(report: Report, folder: Path) -> None:
    output_of.result(f"\n{report.name}", bold=True)
    output_of.result(tables(report))
    output_of.result("  ".join(shown(folder / f"{report.name}{suffix}") for suffix in SUFFIXES))
