"""``diff``: the differences between two targets."""

from typing import Any

import click

from triton_ensembles.building.built import choose
from triton_ensembles.building.difference import difference
from triton_ensembles.commands.common import options, output
from triton_ensembles.commands.common.output import summary_of
from triton_ensembles.ground.errors import EnsembleError, UsageError
from triton_ensembles.triton.targets import CPU, NAMES, target_of


@click.command("diff")
@click.argument("old_name", type=click.Choice(NAMES))
@click.argument("new_name", type=click.Choice(NAMES))
@options.names
@options.image
@output.json_format
def diff(old_name: str, new_name: str, names: tuple[str, ...], image: str) -> None:
    """Show what differs between two targets: the servers, and the files that are staged for each of them.

    Nothing is built. Where there is no project, only the servers are compared. An ensemble that cannot be read has its
    error instead, and the exit code is 1.

    \b
      diff cpu gpu --image 24.09   what NVIDIA's image gets instead
      diff cpu fused               the DAG, and the one model that it becomes

    \b
    --format json: {"servers": {property: {before, after}}, "ensembles": [{name, diff: [line]} or {name, error}]}
    """
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
    failed: dict[str, EnsembleError] = {}
    records: list[dict[str, Any]] = []
    for folder in folders:
        output.result(f"\n{folder.name}", bold=True)
        try:
            lines = difference(folder, old, new)
        except EnsembleError as error:
            failed[folder.name] = error
            records.append({"name": folder.name, "error": str(error)})
            output.result(f"error: {error}")
            continue
        records.append({"name": folder.name, "diff": lines})
        for line in lines:
            output.result(line, fg={"+": "green", "-": "red", "@": "cyan"}.get(line[0]))
    servers = {key: {"before": before, "after": after[key]} for key, before in old.differences().items()}
    output.document({"servers": servers, "ensembles": records})
    if failed:
        raise EnsembleError(summary_of(failed, len(folders), "cannot be compared"))
