"""``diff``: the differences between two archives, folders or git revisions, or between two targets."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from triton_ensembles.building.built import choose
from triton_ensembles.building.difference import difference
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.fault import Severity
from triton_ensembles.checking.repository_search import is_repository
from triton_ensembles.commands.common import options, output
from triton_ensembles.comparing.comparison import Change, Comparison
from triton_ensembles.comparing.sides import Side, comparisons, side_of
from triton_ensembles.ground.errors import EnsembleError, UsageError
from triton_ensembles.ground.spelling import most_of
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.targets import CPU, NAMES, target_of

_COLORS = {"+": "green", "-": "red", "@": "cyan"}
_MOST_LINES = 200  # of one file, as text


@click.command("diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@options.names
@options.image
@output.json_format
@click.pass_context
def diff(context: click.Context, old: str, new: str, names: tuple[str, ...], image: str) -> None:
    """Show what differs between two archives, folders or git revisions, and whether a client would notice.

    OLD and NEW are model repositories, projects, .tar.gz archives, or revisions of the git repository that you are in;
    an ENSEMBLE is also the path of a repository in both. Configs are compared by their fields: comments and order do
    not count. Models are matched without the names that a build or a clone puts before them. Archives are streamed,
    not unpacked. A path comes before a revision of the same name. A side in which check finds errors is named.

    \b
      diff old.tar.gz dist/fused/bert.tar.gz       what a new archive changes
      diff HEAD~3 .                                what was changed in this folder since then
      diff v1 v2 bert_trt                          one ensemble in two revisions
      diff models/ ../other/models

    OLD and NEW may also be targets: the servers, and the files that are staged for each of them. Nothing is built.
    Where there is no project, only the servers are compared. An ensemble that cannot be read has its error instead.

    \b
      diff cpu gpu --image 24.09   what NVIDIA's image gets instead
      diff cpu fused               the DAG, and the one model that it becomes

    \b
    Exit codes:
      0  no difference; for targets, whatever there is
      1  there are differences, or an ensemble cannot be read
      2  wrong usage: there is no such path or revision, or it has no models

    \b
    --format json: {"same": bool, "client_notices": bool, "repositories": [{name, changes: [{model, kind, name, before,
                    after, lines}], client: [text], client_notices, answers_may_differ, identical, identical_bytes,
                    sizes: [before, after]}]}
      of targets: {"servers": {property: {before, after}}, "ensembles": [{name, diff: [line]} or {name, error}]}
    """
    if {old, new} <= set(NAMES) and not (Path(old).exists() and Path(new).exists()):
        _targets(old, new, names, image)
        return
    with tempfile.TemporaryDirectory(prefix="diff-") as scratch:
        try:
            sides = side_of(old, Path(scratch)), side_of(new, Path(scratch))
            results = comparisons(*sides, names)
            refused = [line for side in sides for line in _refused(side, image)]
        except EnsembleError as error:
            raise click.UsageError(str(error)) from error
    for result in results:
        _show(result, alone=len(results) == 1)
    differing = [result for result in results if result.changes]
    noticed = [result.name for result in results if result.client]
    for line in refused if differing else ():
        output.result(line, bold=True)
    if len(results) > 1:
        output.result(f"{len(differing)} of {len(results)} repositories differ; a client would notice that of "
                      f"{most_of(noticed) if noticed else 'none'}")  # fmt: skip
    records = [result.document() for result in results]
    output.document({"same": not differing, "client_notices": bool(noticed), "repositories": records})
    context.exit(1 if differing else 0)


def _refused(side: Side, image: str) -> Iterator[str]:
    """Yield a line if ``check`` finds errors in a repository or an archive: what differs there says little."""
    if side.path.is_file() or is_repository(side.path):
        faults = check([side.path], Destination(image=image)).faults
        if errors := [fault for fault in faults if fault.severity is Severity.ERROR]:
            yield f"check refuses {side.written} ({len(errors)}): {errors[0].place}: {errors[0].message}"


def _show(result: Comparison, *, alone: bool) -> None:
    if not result.changes:
        output.result(f"{result.name}: no difference" if not alone else "no difference")
        return
    output.result(result.name, bold=True)
    model = ""
    for change in result.changes:
        if change.model != model:
            model = change.model
            output.result(f"  {model}" if model else "  the repository", bold=True)
        _show_change(change)
    before, after = (f"{size / 1e6:,.1f} MB" for size in result.sizes)
    if before != after:
        output.result(f"  size {before} -> {after}")
    if result.identical:
        weights = "1 file of weights is" if result.identical == 1 else f"{result.identical} files of weights are"
        output.result(f"  {weights} identical ({result.identical_bytes / 1e6:,.1f} MB)")
    for line in result.client:
        output.result(f"  a client notices: {line}", fg="yellow")
    if not result.client:
        answers = "; its answers may differ" if result.answers_may_differ else ""
        output.result(f"  a client would not notice: the interface is the same{answers}")


def _show_change(change: Change) -> None:
    indent = "    " if change.model else "  "
    before, after = change.before, change.after
    words = f"{before} -> {after}" if before and after else f"new, {after}" if after else f"gone, {before}"
    if change.kind in ("code", "file"):
        words = f"-{before.split()[0]} +{after.split()[0]}"
    elif change.kind == "model" and not (before and after):
        words = "new" if after else "gone"
    output.result(f"{indent}{change.kind:8} {change.name}  {words}")
    for line in change.lines[:_MOST_LINES]:
        output.result(f"{indent}  {line}", fg=_COLORS.get(line[:1]))
    if len(change.lines) > _MOST_LINES:
        output.result(f"{indent}  … and {len(change.lines) - _MOST_LINES} more lines; --format json has them all")


def _targets(old_name: str, new_name: str, names: Sequence[str], image: str) -> None:
    if old_name == new_name:
        raise UsageError(f"both targets are {old_name}", cure="run: diff cpu gpu --image 24.09")
    old, new = (CPU if name == "cpu" else target_of(name, image) for name in (old_name, new_name))
    after = new.differences()
    output.result(f"{old_name} -> {new_name}", bold=True)
    for property_name, before in old.differences().items():
        change = "" if before == after[property_name] else f"  ->  {after[property_name]}"
        output.result(f"  {property_name:24} {before}{change}")
    places = options.current_places() if names else options.places_if_any()
    folders = choose(places.ensembles, names) if places else []
    failures = output.Failures(len(folders), "cannot be compared")
    records: list[dict[str, Any]] = []
    for folder in folders:
        output.result(f"\n{folder.name}", bold=True)
        with failures.of(folder.name, records):
            lines = difference(folder, old, new)
            records.append({"name": folder.name, "diff": lines})
            for line in lines:
                output.result(line, fg=_COLORS.get(line[:1]))
    servers = {key: {"before": before, "after": after[key]} for key, before in old.differences().items()}
    output.document({"servers": servers, "ensembles": records})
    failures.raise_any()
