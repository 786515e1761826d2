"""``list``: every ensemble and its archive."""

from pathlib import Path
from typing import Any

import click

from triton_ensembles.building.built import Built, choose, last_built
from triton_ensembles.building.places import Places
from triton_ensembles.building.planned.plan import find_ensemble, read_models
from triton_ensembles.checking.built_for import measured
from triton_ensembles.commands.common import options, output
from triton_ensembles.ground.errors import shown
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.project.recipe.reader import read_recipe


@click.command("list")
@options.target
@output.json_format
def listing(target: str) -> None:
    """Show every ensemble: steps, artifacts, sizes, weights (pretrained, provided or random), environment, digest.

    One that cannot be read has its error instead, and the exit code is 1.

    \b
    --format json: {"ensembles": [{name, error}, or {name, description, steps: [text], archive: null or
                    {path, size, sha256, manifest}}]}
    """
    places = options.current_places()
    folders = choose(places.ensembles, ())
    failures = output.Failures(len(folders), "cannot be read")
    records: list[dict[str, Any]] = []
    for folder in folders:
        with failures.of(folder.name, records):
            records.append(_listed(folder, target, places))
    output.document({"ensembles": records})
    failures.raise_any()


def _listed(folder: Path, target: str, places: Places) -> dict[str, Any]:
    """Print an ensemble and its archive, and return what of them is in the JSON document."""
    description, steps = read_recipe(folder).description, _steps(folder)
    output.result(f"{folder.name}  {description}", bold=True)
    output.result(f"  steps: {' -> '.join(steps)}")
    built = last_built(folder.name, target, places)
    rows = _rows(built) if built else []
    for row in rows or [f"  not built, or the archive is damaged: {COMMAND} build --target {target}"]:
        output.result(row)
    archive = None
    if built and rows:
        size = built.archive.stat().st_size
        archive = {"path": str(built.archive), "size": size, "sha256": built.sha256, "manifest": built.manifest}
    return {"name": folder.name, "description": description, "steps": steps, "archive": archive}


def _steps(folder: Path) -> list[str]:
    configs = read_models(folder)
    names = [step.model_name for step in configs[find_ensemble(folder, configs)].ensemble_scheduling.step]
    engines = {name: config.backend or config.platform for name, config in configs.items()}
    return [f"{name} ({engines.get(name, 'missing')})" for name in names]


def _rows(built: Built) -> list[str]:
    """Content of an archive, a line each; none when its manifest is damaged."""
    manifest, rows = built.manifest, []
    try:
        for path, artifact in manifest["artifacts"].items():
            maker = artifact["made_from"]["maker"]
            accuracy = measured(artifact)
            about = f"{maker}{', RANDOM' if artifact['random'] else ''}{accuracy and f', {accuracy}'}"
            rows.append(_row(path, artifact["size"], about))
        for name, environment in manifest["environments"].items():
            packages = ", ".join(f"{package} {version}" for package, version in sorted(environment["packages"].items()))
            about = f"Python {environment['python']} by {environment['provider']}: {packages}"
            rows.append(_row(f"environment {name} ({environment['kind']})", environment["size"], about))
        about = f"weights {manifest['weights']}, sha256 {built.sha256}"
        return [*rows, _row(shown(built.archive), built.archive.stat().st_size, about)]
    except (LookupError, TypeError, AttributeError):
        return []


def _row(name: str, size: int, about: str) -> str:
    return f"  {name:44} {size / 1e6:8.1f} MB  {about}"
