"""The command ``upload``."""

from pathlib import Path

import click

from triton_ensembles.commands.common import options, output
from triton_ensembles.commands.common.archives import chosen_archives
from triton_ensembles.deploy.archives import refuse_faulty
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.bucket import archive_prefix
from triton_ensembles.deploy.placement import common_target
from triton_ensembles.deploy.uploads import list_uploads, upload_archives
from triton_ensembles.triton.destination import Destination, SingleModel
from triton_ensembles.triton.sagemaker_variables import INFERENCE_TYPES


@click.command("upload")
@options.archives
@options.endpoint
@options.bucket
@options.prefix
@options.archive_target
@options.single
@options.allow_random
@output.quiet
@output.json_format
@click.option("--dry-run", is_flag=True, help="Check, say how many bytes would be sent, and stop.")
def upload(
    archives: tuple[Path, ...],
    endpoint: str,
    bucket: str | None,
    prefix: str | None,
    target: str,
    single: bool,
    allow_random: bool,
    dry_run: bool,
) -> None:
    """Check archives and copy them to S3, each under a name that contains a digest of its content.

    Without ARCHIVES, those in dist/TARGET of the project's ensembles are uploaded. An archive that is in S3 already is
    not sent again, and nothing is overwritten. A running endpoint over this prefix serves a new archive at once.

    What archives have in common, such as the weights of clones, is sent once: S3 makes the others from parts of the
    first. After Ctrl-C or a failure, the archives that are complete stay in S3: the same command uploads the others.

    --format json: {"prefix": URL, "uploaded": number, "bytes_sent": number, "archives": [{name, key, size, sha256,
    weights}]}; with --dry-run, what would be uploaded and sent
    """
    chosen = chosen_archives(archives, target, allow_random=allow_random)
    aws = Aws()
    say = output.progress()
    streams = SingleModel(None, INFERENCE_TYPES[-1])  # deploy knows the image, and what is to be served
    destination = Destination(common_target(chosen, target), single=streams if single else None)
    say(f"check: {refuse_faulty(chosen, destination)[0]}")
    place = archive_prefix(aws, endpoint, bucket, prefix)
    total = sum(archive.size for archive in chosen) / 1e6
    say(f"archives to store in {place.url}: {len(chosen)}, {total:.1f} MB")
    say("cost: S3 storage only, nothing per hour")
    if dry_run:
        uploads = list_uploads(aws, place, chosen, say)
        count, size = len(uploads.missing), uploads.bytes_to_send
        line = f"archives to upload: {count}, {total:.1f} MB, of which {size / 1e6:.1f} MB are sent"
    else:
        count, size = upload_archives(aws, place, chosen, say)
        line = f"archives uploaded: {count}, {size / 1e6:.1f} MB sent"
    keys = ("name", "key", "size", "sha256", "weights")
    records = [{key: getattr(archive, key) for key in keys} for archive in chosen]
    output.document({"prefix": place.url, "uploaded": count, "bytes_sent": size, "archives": records})
    output.result(line if count else "unchanged, nothing to do")
