"""``graph``: the DAG of an ensemble as mermaid or as a picture."""

from pathlib import Path

import click

from triton_ensembles.commands.common import options, output
from triton_ensembles.commands.common.arguments import path_of
from triton_ensembles.graphs.mermaid import mermaid
from triton_ensembles.graphs.read import read_graph

_SUFFIXES = (".mmd", ".svg", ".png", ".pdf")


@click.command("graph")
@click.argument("name")
@click.option("-o", "--output", "file", type=options.NEW_FILE, help="Write to FILE: .mmd, .svg, .png or .pdf.")
@click.option("--model", metavar="MODEL", default="", help="The ensemble to draw, where there are several.")
def graph(name: str, file: Path | None, model: str) -> None:
    """Draw the DAG of an ensemble: steps, tensors, data types, dims and batching.

    NAME is a folder of ensembles/, or the path of any Triton model repository, ensemble or .tar.gz.

    \b
      graph bert_trt                   mermaid, for a README
      graph bert_trt -o bert_trt.svg   a picture
      graph dist/gpu/bert_trt.tar.gz   what is in an archive, a fused one too
    """
    suffix = file.suffix.lower() if file else ".mmd"
    if suffix not in _SUFFIXES:
        raise click.UsageError(f"'{file}' has none of the suffixes {', '.join(_SUFFIXES)}: rename it")
    drawn = read_graph(path_of(name), model)
    if suffix == ".mmd":
        output.write(mermaid(drawn), file)
        return
    from triton_ensembles.graphs.picture import picture  # matplotlib takes a second to load

    output.write(picture(drawn, suffix.removeprefix(".")), file)
