"""``schema``: the JSON schema of ensemble.toml."""

import json
from pathlib import Path

import click

from triton_ensembles.commands.common import options
from triton_ensembles.ground.errors import shown
from triton_ensembles.ground.files import write_file
from triton_ensembles.project.recipe.json_schema import json_schema


@click.command()
@click.option("-o", "--output", "file", type=options.NEW_FILE, help="Write it into this file instead of printing it.")
def schema(file: Path | None) -> None:
    """Print the JSON schema of ensemble.toml, with which an editor completes keys, shows what they mean and marks what
    is wrong.

    Editors with taplo (Even Better TOML, and others) find it by the first line of a recipe; others, such as PyCharm, by
    their settings. What only the whole project can tell, `check` finds.

    \b
      schema -o ensemble.schema.json
      #:schema ../../ensemble.schema.json    the first line of ensembles/NAME/ensemble.toml
    """
    text = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    if file is None:
        click.echo(text, nl=False)
        return
    write_file(file, text)
    click.echo(f"wrote {shown(file)}")
