"""``prune``: free the disk of what no archive needs."""

import click

from triton_ensembles.building import prune as pruning
from triton_ensembles.commands.common import options, output
from triton_ensembles.ground.errors import shown


@click.command("prune")
@click.option(
    "--days",
    type=click.FloatRange(min=0),
    show_default=False,
    help="Keep only what archives of the last DAYS days were made with.  [default: what all archives were made with]",
)
@output.quiet
@click.option("--dry-run", is_flag=True, help="Print what would be removed, and remove nothing.")
def prune(days: float | None, dry_run: bool) -> None:
    """Remove from build/store/ and build/downloads/ what no archive in dist/ was made with, and print what it frees.

    Archives stay, and what they were made with stays too, so that building them again is quick. Files that a staged
    repository still links to free nothing. It waits until no build is running, and builds wait for it. Where there is
    no project, it is what was made for repositories without a recipe, with the packages that their steps declare, in
    your cache folder: stop what serves them before.
    """
    places = options.places_anywhere()
    with places.building(output.progress(), alone=True):
        unneeded = pruning.find_unneeded(places, days)
        for item in unneeded:
            click.echo(f"{item.size / 1e6:10.1f} MB  {shown(item.path)}")
        if not dry_run:
            pruning.prune(unneeded)
    verb = "would be freed" if dry_run else "freed"
    click.echo(f"{sum(item.size for item in unneeded) / 1e6:10.1f} MB  {verb}, by {len(unneeded)} files and folders")
