"""``tune``"""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from triton_ensembles.building.built import choose
from triton_ensembles.building.places import Weights
from triton_ensembles.commands.common import option_values, options, request_options
from triton_ensembles.commands.common import output as output_of
from triton_ensembles.commands.common.builds import build_all, requests_for, timed_progress
from triton_ensembles.ground.errors import shown
from triton_ensembles.ground.files import write_file
from triton_ensembles.measuring.perf.sweep import Load
from triton_ensembles.measuring.tuning.goal import Goal
from triton_ensembles.measuring.tuning.subject import read_subject
from triton_ensembles.measuring.tuning.tune import Limits
from triton_ensembles.measuring.tuning.tune import tune as search
from triton_ensembles.measuring.tuning.tuning_report import TuningReport, tables


@click.command()
@click.argument("name", metavar="ENSEMBLE")
@options.with_weights
@options.for_target
@output_of.quiet
@output_of.json_format
@options.collected(
    Goal,
    "goal",
    option_values.option(
        "--p99",
        "p99_ms",
        metavar="TIME",
        read=lambda text: option_values.seconds(text) * 1000,
        help="The most that the p99 latency may be, such as 50ms.",
    ),
    click.option(
        "--throughput",
        type=click.FloatRange(min=0, min_open=True),
        callback=option_values.finite,
        help="The least inferences per second.",
    ),
)
@options.collected(
    Limits,
    "limits",
    click.option(
        "--minutes",
        type=click.FloatRange(min=0, min_open=True),
        default=10.0,
        callback=option_values.finite,
        help="The time for the search, with all loads; the present settings are built before.",
    ),
    click.option(
        "--concurrency", "most", type=click.IntRange(1, 1024), default=64, help="The most concurrent requests."
    ),
    click.option("--keep", multiple=True, metavar="SETTING", help="Leave STEP.KEY, or KEY of all steps; repeatable."),
)
@options.collected(Load, "load", request_options.seconds(2.0), request_options.requests)
@click.option("--output", type=options.NEW_FOLDER, help="Folder.  [default: reports/tune, fused: reports/tune/fused]")
@click.option("--write", is_flag=True, help="Write the settings that were found into ensemble.toml and config.pbtxt.")
def tune(
    name: str,
    weights: Weights,
    chosen_target: options.BuildTarget,
    goal: Goal,
    limits: Limits,
    load: Load,
    *,
    output: Path | None,
    write: bool,
) -> None:
    """Search for the settings with which an ensemble is fastest on this machine, with perf_analyzer.

    \b
      tune bert_trt --p99 50ms                      the most throughput at a p99 of at most 50 ms
      tune bert_trt --throughput 300                the least p99 at 300 inferences/s or more
      tune bert_trt --p99 50ms --keep engine        in the same precision and engine

    Instances, threads, batching, queue delay, engine and precision of its steps, one after the other,
    beginning with the present settings. An improvement has to win several rounds in turn with the best
    so far; at the end, rounds against the present settings give the ratio. Without --write the diff is
    only printed. Ctrl-C prints the best so far.

    --format json: {what NAME.json holds, "written": [path]}
    """
    if (goal.p99_ms is None) == (goal.throughput is None):
        raise click.UsageError("a search has one goal: give --p99 TIME or --throughput NUMBER")
    served = chosen_target.served_here()
    places = options.current_places()
    (folder,) = choose(places.ensembles, [name])
    subject = read_subject(folder, served, places, goal, limits.keep)
    if write:
        subject.files.refuse_unwritable()
    (built,) = build_all(requests_for([name], weights, served))
    report = search(subject, built, weights, limits, load=load, progress=timed_progress(name))
    file = (output or options.reports_folder("tune", served)) / f"{name}.json"
    write_file(file, json.dumps(report.document(), indent=2, ensure_ascii=False) + "\n")
    written = subject.files.write(report.outcome.best) if write and report.outcome.proven else []
    output_of.document(report.document() | {"written": [str(path) for path in written]})
    _print(report, file, written)
    if report.outcome.interrupted:
        raise KeyboardInterrupt


def _print(report: TuningReport, file: Path, written: Sequence[Path]) -> None:
    output_of.result(f"\n{report.name}", bold=True)
    output_of.result(tables(report))
    output_of.result(shown(file))
    if report.diff:
        output_of.result(f"\n{report.diff}".rstrip("\n"))
    if written:
        output_of.result(f"written: {', '.join(shown(path) for path in written)}")
    elif report.diff:
        why = "they were not compared to the end" if not report.outcome.proven else "--write writes them"
        output_of.result(f"nothing is written: {why}")
    else:
        output_of.result("nothing is written: the present settings stay")
