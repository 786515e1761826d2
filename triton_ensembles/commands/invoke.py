"""``invoke`` on the command line: the example requests of the project's ensembles, or a body of one's own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import tritonclient.http as http

from triton_ensembles.building.places import Places
from triton_ensembles.commands.common import endpoint_options, options
from triton_ensembles.commands.common import output as output_of
from triton_ensembles.commands.common.option_rules import excludes
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.invocation import PATIENCE, Answer, invoke_model
from triton_ensembles.deploy.keys import SUFFIX, archive_name, archive_names, key_of
from triton_ensembles.deploy.payload import Payload, payload_of, read_answer
from triton_ensembles.deploy.target_model import EndpointArchives
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import write_file
from triton_ensembles.project.examples.answer import answer_lines
from triton_ensembles.project.examples.folder import read_examples
from triton_ensembles.project.examples.request import Request
from triton_ensembles.project.recipe.places import find_ensembles
from triton_ensembles.sagemaker.contract import LARGEST_BODY


@dataclass(frozen=True)
class Sent:
    """The values of --text, --body and --content-type."""

    texts: tuple[str, ...] = options.option(
        "--text", multiple=True, help="Send texts in place of the example's; may be repeated."
    )
    body: Path | None = options.option("--body", type=options.FILE, help="Send this file as it is.")
    content_type: str = options.option("--content-type", default="application/json", help="Of --body.")

    def requests(self, places: Places | None, name: str) -> list[tuple[Payload, Request | None]]:
        """Return what is sent to the archive ``name``: the body, or the example requests of its ensemble."""
        if self.body:
            return [(Payload(_body(self.body), self.content_type), None)]
        return [(payload_of(request), request) for request in self._examples(places, name)]

    def _examples(self, places: Places | None, name: str) -> tuple[Request, ...]:
        """All of them, or the first one with other content."""
        names = archive_names(f"{name.removesuffix(SUFFIX).rpartition('/')[2]}{SUFFIX}")
        folders = [folder for folder in find_ensembles(places.ensembles) if folder.name in names] if places else []
        examples = read_examples(folders[0]) if folders else None
        if examples is None or not examples.requests:
            raise EnsembleError(f"there are no example requests for {name}", cure="give the request with --body FILE")
        return (examples.requests[0].with_texts(self.texts),) if self.texts else examples.requests


@click.command("invoke")
@excludes("--body", "--text")
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@endpoint_options.name
@endpoint_options.archive_target
@options.group("sent", Sent)
@click.option("--output", type=options.NEW_FILE, help="Write the answer's body here.")
@output_of.quiet
@output_of.json_format
@click.option("--patience", default=PATIENCE, help="Seconds that a cold start may take.")
def invoke(
    models: tuple[str, ...], endpoint: str, target: str, sent: Sent, *, output: Path | None, patience: float
) -> None:
    """Send models of the endpoint their example requests and print the answers, waiting while a model is being loaded.

    A MODEL is a TargetModel as it is (my/model.tar.gz), or a name without a digest: bert_trt is the endpoint's
    bert_trt-3009f6f36df9.tar.gz, and so is the file that upload took. If the endpoint has several of that name, it is
    the one in dist/TARGET, or else the one that was uploaded last. Without any MODEL, all ensembles of the project that
    have an archive in dist/TARGET are invoked, or what a single-model endpoint serves. One that does not answer does
    not stop the others; the exit code is then 1.

    \b
    --format json: {"answers": [{model, request, seconds, tries, content_type,
                    outputs: [{name, datatype, shape, data: [value]}] or null}],
                    "failed": [{model, error}]}
    """
    aws, places = Aws(), options.places_if_any()
    archives = EndpointArchives(aws, endpoint)
    names = models or ((min(archive_names(archives.alone), key=len),) if archives.alone else ())
    if not (names or places):
        raise click.UsageError("name a MODEL: there is no project here, whose ensembles would be taken without one")
    names = names or tuple(path.name.removesuffix(SUFFIX) for path in endpoint_options.project_archives(target))
    if output and len(names) > 1:
        raise click.UsageError("--output takes the answer of one MODEL")
    records = []
    failures = output_of.Failures(len(names), "did not answer", "models")
    for model in names:
        with failures.of(model):
            name, built = _name_and_built(places, target, model)
            key = archives.key(name, built)
            output_of.result(key, bold=True)
            for payload, example in sent.requests(places, name):
                target_model = "" if archives.alone else key
                answer = invoke_model(aws, endpoint, target_model, payload, output_of.progress(), patience)
                records.append(_shown(key, example, answer))
                if output:
                    write_file(output, answer.body)
    output_of.document({"answers": records, "failed": failures.records("model")})
    failures.raise_any()


def _body(path: Path) -> bytes:
    """Content of the file that --body names, which may be a pipe. A byte too many is enough to refuse it."""
    with path.open("rb") as file:
        return file.read(LARGEST_BODY + 1)


def _name_and_built(places: Places | None, target: str, model: str) -> tuple[str, str]:
    """Return the archive's name, and the key of the file that MODEL is, or of that in dist/TARGET; "" without one."""
    if model.endswith(SUFFIX) and Path(model).is_file():
        return archive_name(Path(model)), key_of(Path(model))
    path = places.dist / target / f"{model}{SUFFIX}" if places else None
    return model, key_of(path) if path and path.is_file() else ""


def _shown(model: str, example: Request | None, answer: Answer) -> dict[str, Any]:
    """Print an answer. Returns its record. Raises :class:`EnsembleError`: it says to be Triton's, and is not."""
    read = read_answer(answer.body, answer.content_type) if answer.content_type.startswith("application/") else None
    record = _record(model, example, answer, read)
    tries = "" if answer.tries == 1 else f", {answer.tries} tries"
    output_of.result(f"  {example.label if example else 'answered'} in {answer.seconds * 1000:.0f} ms{tries}")
    size = f"{answer.content_type}, {len(answer.body)} bytes"
    for line in answer_lines(read, example) if read else [size]:
        output_of.result(f"  {line}")
    return record


def _record(model: str, example: Request | None, answer: Answer, read: http.InferResult | None) -> dict[str, Any]:
    """``read`` and ``outputs`` are None for an answer that is not Triton's."""
    outputs = read and [
        {key: output[key] for key in ("name", "datatype", "shape")} | {"data": _values(read.as_numpy(output["name"]))}
        for output in read.get_response().get("outputs", [])
    ]
    facts = {"model": model, "request": example.label if example else None, "seconds": answer.seconds}
    return facts | {"tries": answer.tries, "content_type": answer.content_type, "outputs": outputs}


def _values(values: Any) -> list[Any]:
    return [
        value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in values.reshape(-1).tolist()
    ]
