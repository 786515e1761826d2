"""``schema``: the JSON schema of ensemble.toml."""

import json
from pathlib import Path

import click

from triton_ensembles.commands.common import output
from triton_ensembles.project.recipe.json_schema import json_schema


@click.command()
@output.file
def schema(file: Path | None) -> None:
    """Print the JSON schema of ensemble.toml, with which an editor completes keys, shows what they mean and marks what
    is wrong.

    Editors with taplo (Even Better TOML, and others) find it by the first line of a recipe; others, such as PyCharm, by
    their settings. What only the whole project can tell, `check` finds.

    \b
      schema -o ensemble.schema.json
      #:schema ../../ensemble.schema.json    the first line of ensembles/NAME/ensemble.toml
    """
    output.write(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n", file)
