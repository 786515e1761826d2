"""``profile``"""

import tempfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from triton_ensembles.archive.manifest import read_manifest
from triton_ensembles.building.built import choose
from triton_ensembles.commands.common import options, request_options
from triton_ensembles.commands.common import output as output_of
from triton_ensembles.commands.common.arguments import Chosen, argument, chosen
from triton_ensembles.commands.common.builds import timed_progress
from triton_ensembles.commands.common.hosted import hosted_of
from triton_ensembles.ground.errors import shown
from triton_ensembles.ground.files import file_digest
from triton_ensembles.measuring.profiling.load import Load
from triton_ensembles.measuring.profiling.measure import Subject, measure
from triton_ensembles.measuring.profiling.profile import Profile, document, kept_profile, profile_file, write_profile
from triton_ensembles.measuring.profiling.profile_table import table
from triton_ensembles.project.examples.folder import Examples, examples_of, read_examples
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.runtime.fused.plan import PLAN
from triton_ensembles.serving.served import Served
from triton_ensembles.triton.targets import Target


@click.command()
@argument
@options.for_target
@output_of.quiet
@output_of.json_format
@click.option("--fresh", is_flag=True, help="Measure again, though the archive has not changed since the last time.")
@options.collected(
    Load,
    "load",
    request_options.numbers_option(
        "--copies",
        "copies",
        Load.copies,
        1000,
        "Numbers of loaded copies at which memory is read. It ends with those that the machine has room for.",
    ),
    request_options.concurrencies(Load.concurrencies, "Concurrent requests, each with each --batch, and 1."),
    request_options.numbers_option(
        "--batch",
        "batches",
        Load.batches,
        65536,
        "Numbers of rows in a request; those that the model does not take are left out.",
    ),
    request_options.seconds(Load.seconds, "Duration of a measurement of answers."),
    request_options.inputs,
)
@click.option(
    "--output",
    type=options.NEW_FOLDER,
    help="The folder for NAME-SHA256.json.  [default: build/profiles of the project, or profiles/ beside tritonserver "
    "if there is no project]",
)
def profile(
    names: tuple[str, ...], chosen_target: options.BuildTarget, *, fresh: bool, load: Load, output: Path | None
) -> None:
    """Measure the demand of an archive on this machine, in the server of a multi-model endpoint: for `plan`.

    Bytes packed, unpacked and left in /tmp; seconds and processor time of unpacking and loading; memory of 1, 4 and 16
    loaded copies under names of their own, as an endpoint of many variants has them; the first answer after a load;
    latency and processor time of its answers, by concurrency and rows, and of those to requests that come seldom.
    Arguments are those of serve: ensembles of the project are built, repositories packed, archives taken as they are.

    \b
      profile bert_trt --target fused       what one of a thousand fused ones takes
      profile dist/cpu/*.tar.gz             several archives, one after the other
      profile model.tar.gz --shape X:16     random data, for want of example requests

    The requests are examples: of the ensemble, of the one that the archive was built from, or in examples/ of a
    repository. Each takes two or three minutes, best on a machine that does nothing else. A profile is kept with the
    archive's sha256, and printed again as long as that stays, unless --fresh, --input-data or --shape are given; plan
    reads it from there.

    --format json: {"profiles": [{"file": path, "measured": whether now, "profile": what the file holds}],
    "failed": [{name, error}]}
    """
    load = replace(load, concurrencies=(1, *load.concurrencies))
    fresh = fresh or bool(load.user)  # a profile does not say what was sent
    served_here = chosen_target.served_here()
    folder = output or options.profiles_folder()
    done: list[dict[str, Any]] = []
    every = _each_alone(chosen(names))
    if load.user and len(every) > 1:
        raise click.UsageError("--input-data and --shape are for one archive: name it")
    failures = output_of.Failures(len(every), "could not be profiled", "archives")
    for name, selected in every:
        with failures.of(name) if len(every) > 1 else nullcontext():
            file, measured, is_new = _profile(selected, served_here, folder, load, fresh=fresh)
            done.append({"file": str(file), "measured": is_new, "profile": document(measured)})
            output_of.result(f"\n{measured.archive}", bold=True)
            output_of.result(table(measured))
            output_of.result(shown(file) if is_new else f"{shown(file)}, kept since then: --fresh measures again")
    output_of.document({"profiles": done, "failed": failures.records()})
    failures.raise_any()


def _each_alone(selected: Chosen) -> list[tuple[str, Chosen]]:
    """Return one entry per chosen path or ensemble; by default the leading ensembles."""
    ensembles = selected.ensembles
    if not ensembles and not selected.paths:
        folders = choose(options.current_places().ensembles, (), leading=True)
        ensembles = tuple(folder.name for folder in folders)
    return [(name, replace(selected, ensembles=(name,), paths=())) for name in ensembles] + [
        (path.name, replace(selected, ensembles=(), paths=(path,))) for path in selected.paths
    ]


def _profile(selected: Chosen, target: Target, folder: Path, load: Load, *, fresh: bool) -> tuple[Path, Profile, bool]:
    """The file and the profile of one archive, and whether it was measured now."""
    with tempfile.TemporaryDirectory(prefix="profile-") as scratch:
        archive_file = next((path for path in selected.paths if path.is_file()), None)
        if archive_file and not fresh and (known := _kept(archive_file, folder, load)):  # before it is unpacked
            return *known, False
        hosted = hosted_of(selected, Path(scratch), target)
        ((target_model, archive),) = hosted.archives.items()
        if not archive_file and not fresh and (known := _kept(archive, folder, load)):
            return *known, False
        served = hosted.served[target_model]
        manifest = read_manifest(served.repository)
        subject = Subject(
            archive=archive,
            ensemble=str(manifest.get("ensemble") or served.tops[0]),
            form="fused" if any(served.repository.glob(f"*/*/{PLAN}")) else "drawn",
            python=served.python,
            completes=not served.is_complete,
            examples=_examples(served, manifest),
        )
        bench = Path(scratch) / "bench"
        bench.mkdir()
        measured = measure(subject, bench, load, timed_progress(subject.ensemble))
    file = profile_file(folder, archive, measured.sha256)
    write_profile(measured, file)
    return file, measured, True


def _kept(archive: Path, folder: Path, load: Load) -> tuple[Path, Profile] | None:
    sha256 = file_digest(archive)
    file = profile_file(folder, archive, sha256)
    kept = kept_profile(file, sha256, load, output_of.progress())
    return (file, kept) if kept else None


def _examples(served: Served, manifest: dict[str, Any]) -> Examples:
    """The examples of the ensemble, of the project's ensemble that an archive was built from, or of the model."""
    if (served.path / RECIPE).is_file():
        return read_examples(served.path)
    places = options.places_if_any()
    for key in ("clone_of", "ensemble"):
        name = manifest.get(key)
        if places and isinstance(name, str) and name and (places.ensembles / name / RECIPE).is_file():
            return read_examples(places.ensembles / name)
    return examples_of(served.repository / served.tops[0])
