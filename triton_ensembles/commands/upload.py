"""The command ``upload``."""

import click

from triton_ensembles.commands.common import endpoint_options, options, output
from triton_ensembles.deploy.archives import refuse_faulty
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.uploads import missing_archives, upload_archives
from triton_ensembles.triton.destination import Destination, SingleModel
from triton_ensembles.triton.sagemaker_variables import INFERENCE_TYPES


@click.command("upload")
@options.group("sent", endpoint_options.Sent)
@options.group("place", endpoint_options.Place)
@output.quiet
@output.json_format
@click.option("--dry-run", is_flag=True, help="Check, say how many bytes would be sent, and stop.")
def upload(sent: endpoint_options.Sent, place: endpoint_options.Place, dry_run: bool) -> None:
    """Check archives and copy them to S3, each under a name that contains a digest of its content.

    Without ARCHIVES, those in dist/TARGET of the project's ensembles are uploaded. An archive that is in S3 already is
    not sent again, and nothing is overwritten. A running endpoint over this prefix serves a new archive at once.

    After Ctrl-C or a failure, the archives that are complete stay in S3: the same command uploads the others.

    --format json: {"prefix": URL, "uploaded": number, "bytes_sent": number, "archives": [{name, key, size, sha256,
    weights}]}; with --dry-run, what would be uploaded and sent
    """
    chosen = sent.read()
    aws = Aws()
    say = output.progress()
    streams = SingleModel(None, INFERENCE_TYPES[-1])  # deploy knows the image, and what is to be served
    destination = Destination(sent.target_of(chosen), undecided=True, single=streams if sent.single else None)
    say(f"check: {refuse_faulty(chosen, destination)}")
    folder = place.in_s3(aws)
    total = sum(archive.size for archive in chosen) / 1e6
    say(f"archives to store in {folder.url}: {len(chosen)}, {total:.1f} MB")
    say("cost: S3 storage only, nothing per hour")
    new = (missing_archives if dry_run else upload_archives)(aws, folder, chosen, say)
    size = sum(archive.size for archive in new)
    line = f"archives {'to upload' if dry_run else 'uploaded'}: {len(new)}, {size / 1e6:.1f} MB"
    keys = ("name", "key", "size", "sha256", "weights")
    records = [{key: getattr(archive, key) for key in keys} for archive in chosen]
    output.document({"prefix": folder.url, "uploaded": len(new), "bytes_sent": size, "archives": records})
    output.result(line if new else "unchanged, nothing to do")
