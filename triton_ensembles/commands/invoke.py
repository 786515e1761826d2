"""``invoke`` on the command line: example requests for the project's ensembles, or a body of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from triton_ensembles.commands import deploy_options as options
from triton_ensembles.commands.archives import project_archives
from triton_ensembles.deploy.archives import SUFFIX, read_archive
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.invocation import PATIENCE, Answer
from triton_ensembles.deploy.invocation import invoke as ask
from triton_ensembles.deploy.payload import (
    Payload,
    as_json,
    photograph,
    photograph_as_pixels,
    read_answer,
    sentences,
)
from triton_ensembles.errors import EnsembleError
from triton_ensembles.examples.demo import SENTENCES, photographs
from triton_ensembles.paths import DIST

_TOP = 3


@click.command("invoke")
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@options.endpoint
@options.target
@click.option("--text", "texts", multiple=True, help="A sentence for bert_trt; may be repeated.")
@click.option(
    "--photo",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="For dali_inception and resnet_pytorch.",
)
@click.option("--body", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Send this file as it is.")
@click.option("--content-type", default="application/json", show_default=True, help="Of --body.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the answer's body here.")
@click.option("--patience", default=PATIENCE, show_default=True, help="Seconds that a cold start may take.")
def invoke(
    models: tuple[str, ...],
    endpoint: str,
    target: str,
    texts: tuple[str, ...],
    photo: Path | None,
    body: Path | None,
    content_type: str,
    output: Path | None,
    patience: float,
) -> None:
    """Ask models of the endpoint and print their answers, waiting while a model is being loaded.

    A MODEL is an ensemble whose archive is in dist/TARGET (bert_trt), or a TargetModel as it is (my/model.tar.gz).
    Without any, all of dist/TARGET are asked.
    """
    aws = Aws()
    asked = models or tuple(each.name for each in project_archives(target))
    if output and len(asked) > 1:
        raise click.UsageError("--output takes the answer of one MODEL")
    for name in asked:
        key = name if name.endswith(SUFFIX) else read_archive(DIST / target / f"{name}{SUFFIX}").key
        requests = [("", Payload(body.read_bytes(), content_type))] if body else _examples(name, texts, photo)
        click.secho(key, bold=True)
        for label, payload in requests:
            answer = ask(aws, endpoint, key, payload, click.echo, patience)
            tries = "" if answer.tries == 1 else f", {answer.tries} tries"
            click.echo(f"  {label or 'answered'} in {answer.seconds * 1000:.0f} ms{tries}")
            if output:
                output.write_bytes(answer.body)
            _show(answer, texts or SENTENCES)


def _examples(name: str, texts: tuple[str, ...], photo: Path | None) -> list[tuple[str, Payload]]:
    ensemble = name.removesuffix(SUFFIX).rpartition("/")[2]
    if ensemble.startswith("bert_trt"):
        return [(f"{len(texts or SENTENCES)} sentences", sentences(texts or SENTENCES))]
    for start, made in (("dali_inception", photograph), ("resnet_pytorch", photograph_as_pixels)):
        if ensemble.startswith(start):
            return [(path.name, made(path.read_bytes(), _TOP)) for path in ([photo] if photo else photographs())]
    raise EnsembleError(f"there are no example requests for {name}", cure="give the request with --body FILE")


def _show(answer: Answer, texts: tuple[str, ...]) -> None:
    if not answer.content_type.startswith("application/"):
        click.echo(f"  {answer.content_type}, {len(answer.body)} bytes")
        return
    result = read_answer(answer.body, answer.content_type)
    for output in as_json(answer.body, answer.content_type).get("outputs", ()):
        values = result.as_numpy(output["name"])
        click.echo(f"  {output['name']} {output['datatype']} {output['shape']}")
        for line in _lines(output, values, texts):
            click.echo(f"    {line}")


def _lines(output: dict[str, Any], values: Any, texts: tuple[str, ...]) -> list[str]:
    if output["name"] == "finaloutput" and len(values) == len(texts):
        return [f"{float(values[0] @ row):6.3f}  {text}" for text, row in zip(texts, values, strict=True)]
    if output["datatype"] == "BYTES":
        return [row.decode("utf-8", "replace") for row in values.reshape(-1)[:10]]
    return [json.dumps(values.reshape(-1)[:5].tolist())[:-1] + ", …]"]
