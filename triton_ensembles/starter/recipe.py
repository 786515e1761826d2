"""The text of the recipe, and of the environment file, of an imported ensemble."""

import json
from collections.abc import Iterable

from triton_ensembles.starter.steps import Packages
from triton_ensembles.version import __version__


def recipe_text(source: str, environments: Iterable[Packages]) -> str:
    """The text of ensemble.toml: of an import of ``source``."""
    lines = ["# The recipe: what git does not hold.", "", f'requires = ">={__version__}"']
    lines += [f"description = {json.dumps(f'Imported from {source}')}", ""]
    for packages in environments:
        steps = ", ".join(map(json.dumps, packages.steps))
        lines += [f"[environments.{packages.name}]", f"file = {json.dumps(packages.file)}", f"steps = [{steps}]"]
        lines += ['kind = "wheels" # the packages\' files beside model.py: small, and loaded fast', ""]
    return "\n".join(lines)


def environment_text(name: str, packages: Packages) -> str:
    """The environment file. What has no version here gets one from the first build, which locks it."""
    lines = ["# What model.py of the Python steps imports besides numpy, which Triton's own Python has."]
    lines += [f"name: {json.dumps(name)}", "channels:", "  - conda-forge", "dependencies:", "  - pip:"]
    return "\n".join([*lines, *(f"      - {json.dumps(line)}" for line in packages.requirements), ""])
