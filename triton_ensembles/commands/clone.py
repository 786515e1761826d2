"""``clone``: many archives of one ensemble."""

import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from triton_ensembles.building.built import last_built
from triton_ensembles.building.variants.table import Table, clone_names, read_table, table_of
from triton_ensembles.building.variants.written import write_variants
from triton_ensembles.commands.common import options
from triton_ensembles.commands.common import output as output_of
from triton_ensembles.commands.common.option_rules import excludes
from triton_ensembles.commands.common.output import warn_of_random_weights
from triton_ensembles.ground.errors import EnsembleError, escaped, shown
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.ground.progress import Paced

_MOST_SHOWN = 20  # rows with faults
_MOST_CLONES = 1_000_000


@click.command()
@excludes("--variants", "--count", "--prefix", because="its table has the names")
@click.argument("ensemble", metavar="ENSEMBLE|ARCHIVE")
@options.target
@output_of.quiet
@output_of.json_format
@click.option("--count", type=click.IntRange(1, _MOST_CLONES), help="The number of equal archives.")
@click.option("--prefix", help="With --count, the beginning of their names: PREFIX_0000.tar.gz and so on.")
@click.option(
    "--variants",
    type=options.FILE,
    metavar="CSV",
    help="Instead of --count: a table with a row for each archive, which may have files and parameters of its own.",
)
@click.option("--output", type=options.NEW_FOLDER, help="The folder to write them to.  [default: that of the archive]")
def clone(
    ensemble: str, target: str, count: int | None, prefix: str | None, variants: Path | None, output: Path | None
) -> None:
    """Write many archives of one built ENSEMBLE, or of any ARCHIVE, under other names: an endpoint of many variants.

    Every model in them is renamed (PREFIX_0000, PREFIX_0000.preprocess and so on), so that they can be loaded at the
    same time: in folders, in each config.pbtxt, and in an EXECUTION_ENV_PATH through another model's folder. Names in
    the code of a model.py stay.
    What is equal is compressed once and copied.

    \b
      clone bert_trt --count 100 --prefix customer           dist/cpu/bert_trt.tar.gz, as the build left it
      clone path/to/model.tar.gz --count 100 --prefix customer
      clone digits --variants variants.csv --output dist/tenants

    The columns of --variants:

    \b
      name             of the archive and of its ensemble: letters, digits, _ and -
      files            a folder, from that of the table: each file in it replaces the one of the same path, such as
                       network/1/model.onnx
      STEP.PARAMETER   a parameter in the step's config.pbtxt; an empty cell leaves it as it is

    One with files or parameters is checked as if it were built alone. One with faults is named with its line and not
    written, and does not stop the others; the exit code is 1 then. Run again, only what has changed is written.

    \b
    --format json: {"archives": number, "written": number, "bytes": number, "seconds": number,
                    "failed": [{line, name, error}]}
    """
    if not variants and (count is None or prefix is None):
        raise click.UsageError("name a table with --variants, or say how many with --count and --prefix")
    archive = _archive_of(ensemble, target)
    folder = output or archive.parent
    began = time.monotonic()
    table = read_table(variants) if variants else table_of(clone_names(prefix or "", count or 0))
    done = _written(archive, table, folder)
    _report(done, folder, time.monotonic() - began)
    warn_of_random_weights(ensemble, random=done.random)
    if done.failed:
        message = f"{len(done.failed)} of {done.archives + len(done.failed)} clones have faults and were not written"
        raise EnsembleError(message, path=variants, cure="correct their rows, and run it again: the others stay")


@dataclass
class _Done:
    """Archives that are there now, those of them that were written, and rows that have none."""

    archives: int = 0
    written: int = 0
    size: int = 0
    random: bool = False
    failed: list[dict[str, Any]] = field(default_factory=list)

    def __str__(self) -> str:
        failed = f", {len(self.failed)} with faults" if self.failed else ""
        return f"{self.archives + len(self.failed)} looked at, {self.size / 1e9:.1f} GB written{failed}"


def _written(archive: Path, table: Table, folder: Path) -> _Done:
    done, say = _Done(), Paced(output_of.progress())
    with closing(write_variants(archive, table, folder, output_of.progress())) as variants:
        for variant in variants:
            if variant.fault:
                row = variant.row
                done.failed.append({"line": row.line, "name": row.name, "error": variant.fault})
                place = f"{shown(table.path)}:{row.line}" if table.path.name else row.name
                _complain(len(done.failed), f"{place}: error: {variant.fault}")
            else:
                done.archives += 1
                done.written += variant.changed
                done.size += variant.size if variant.changed else 0
                done.random |= variant.random
            say(lambda: f"of {len(table.rows)} clones: {done}")
    return done


def _complain(number: int, line: str) -> None:
    if number <= _MOST_SHOWN:
        click.echo(escaped(line, lines=True), err=True)
    elif number == _MOST_SHOWN + 1:
        click.echo("… there are more rows with faults: --format json lists all of them", err=True)


def _report(done: _Done, folder: Path, seconds: float) -> None:
    counts = {"archives": done.archives, "written": done.written, "bytes": done.size}
    output_of.document(counts | {"seconds": round(seconds, 3), "failed": done.failed})
    unchanged = f", {done.archives - done.written} of them unchanged" if done.archives > done.written else ""
    written = f"{done.size / 1e9:.2f} GB in {seconds:.1f} s"
    output_of.result(f"{done.archives} archives in {shown(folder)}{unchanged}, {written}")


def _archive_of(ensemble: str, target: str) -> Path:
    """The archive that the user names by its path or by its ensemble."""
    if "/" in ensemble or ensemble.endswith(".tar.gz") or Path(ensemble).is_file():
        return Path(ensemble)
    built = last_built(ensemble, target, options.current_places())
    if built is None:
        message = f"there is no complete archive of {ensemble!r}"
        raise EnsembleError(message, cure=f"run: {COMMAND} build {ensemble} --target {target}, or name an archive")
    return built.archive
