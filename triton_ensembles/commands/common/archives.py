"""The archives that ``upload``, ``deploy`` and ``invoke`` work on."""

from collections.abc import Sequence
from pathlib import Path

import click

from triton_ensembles.commands.common import options
from triton_ensembles.commands.common.output import warn_of_random_weights
from triton_ensembles.deploy.archives import Archive, find_archives, read_archive, refuse_random
from triton_ensembles.deploy.keys import SUFFIX
from triton_ensembles.ground.errors import shown
from triton_ensembles.project.recipe.places import find_ensembles


def project_archives(target: str) -> list[Archive]:
    """The archives in dist/TARGET that the project's ensembles make.
    Raises :class:`EnsembleError`: there are none, or one cannot be read."""
    places = options.current_places()
    return find_archives(places.dist / target, [folder.name for folder in find_ensembles(places.ensembles)])


def chosen_archives(paths: Sequence[Path], target: str, *, allow_random: bool) -> list[Archive]:
    """The archives at ``paths``, or else those of the project; prints a warning for each that has random weights.

    Raises:
        EnsembleError: there are none, one cannot be read, or one has random weights and they are not allowed.
    """
    chosen = [read_archive(_built(path, target)) for path in paths] or project_archives(target)
    if not paths:
        _report_others(options.current_places().dist / target, chosen)
    for name in refuse_random(chosen, allowed=allow_random):
        warn_of_random_weights(name, random=True)
    return chosen


def one_archive(archives: Sequence[Archive]) -> Archive:
    """The only one of them, for a single-model endpoint. Raises :class:`click.UsageError`: there are several."""
    if len(archives) > 1:
        names = ", ".join(archive.name for archive in archives)
        raise click.UsageError(f"--single serves one archive, and these are {len(archives)}: {names}; name one of them")
    return archives[0]


def _built(path: Path, target: str) -> Path:
    """The archive in dist/TARGET for the name of an ensemble; other paths as they are."""
    is_name = len(path.parts) == 1 and not path.suffix and not path.exists()
    return options.current_places().dist / target / f"{path}{SUFFIX}" if is_name else path


def _report_others(folder: Path, chosen: Sequence[Archive]) -> None:
    not_sent = sorted(set(folder.glob(f"[!.]*{SUFFIX}")) - {archive.path for archive in chosen})
    if not_sent:
        names = ", ".join(shown(path) for path in not_sent[:3]) + (", …" if len(not_sent) > 3 else "")
        click.echo(f"note: left out, as no ensemble here makes them: {names}; name them to include them", err=True)
