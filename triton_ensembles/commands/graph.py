"""``graph``: the DAG of an ensemble as mermaid or as a picture."""

import sys
from pathlib import Path

import click

from triton_ensembles.commands.common import options
from triton_ensembles.commands.common.arguments import path_of
from triton_ensembles.graphs.mermaid import mermaid
from triton_ensembles.graphs.read import read_graph
from triton_ensembles.ground.errors import shown
from triton_ensembles.ground.files import write_file

_FORMATS = {".mmd": "mermaid", ".svg": "svg", ".png": "png", ".pdf": "pdf"}


@click.command("graph")
@click.argument("name")
@click.option("--format", "style", type=click.Choice(list(_FORMATS.values())), help="Default: by FILE, or mermaid.")
@click.option("-o", "--output", "file", type=options.NEW_FILE, help="Write to FILE: .mmd, .svg, .png or .pdf.")
@click.option("--model", metavar="MODEL", default="", help="The ensemble to draw, where there are several.")
def graph(name: str, style: str | None, file: Path | None, model: str) -> None:
    """Draw the DAG of an ensemble: steps, tensors, data types, dims and batching.

    NAME is a folder of ensembles/, or the path of any Triton model repository, ensemble or .tar.gz.

    \b
      graph bert_trt                   mermaid, for a README
      graph bert_trt -o bert_trt.svg   a picture
      graph dist/gpu/bert_trt.tar.gz   what is in an archive, a fused one too
    """
    style = style or _format_of(file)
    drawn = read_graph(path_of(name), model)
    if style == "mermaid":
        data = mermaid(drawn).encode()
    else:
        from triton_ensembles.graphs.picture import picture  # matplotlib takes a second to load

        data = picture(drawn, style)
    if file:
        write_file(file, data)
        click.echo(f"wrote {shown(file)}")
    elif style in ("png", "pdf") and sys.stdout.isatty():
        raise click.UsageError(f"a {style.upper()} cannot be printed on a terminal: name a file with -o")
    else:
        click.echo(data, nl=False)


def _format_of(file: Path | None) -> str:
    if file is None:
        return "mermaid"
    if file.suffix.lower() not in _FORMATS:
        message = f"'{file}' has none of the suffixes {', '.join(_FORMATS)}: rename it, or choose a --format"
        raise click.UsageError(message)
    return _FORMATS[file.suffix.lower()]
