"""The command ``upload``."""

from pathlib import Path

import click

from triton_ensembles.commands import options, output
from triton_ensembles.commands.archives import chosen_archives
from triton_ensembles.deploy.archives import refuse_faulty
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.bucket import archive_prefix
from triton_ensembles.deploy.placement import common_target
from triton_ensembles.deploy.uploads import upload_archives
from triton_ensembles.triton.destination import Destination


@click.command("upload")
@options.archives
@options.endpoint
@options.bucket
@options.prefix
@options.archive_target
@options.allow_random
@output.quiet
@output.json_format
def upload(
    archives: tuple[Path, ...], endpoint: str, bucket: str | None, prefix: str | None, target: str, allow_random: bool
) -> None:
    """Check archives and copy them to S3, each under a name that contains a digest of its content.

    Without ARCHIVES, those in dist/TARGET of the project's ensembles are uploaded. An archive that is in S3 already is
    not sent again, and nothing is overwritten. A running endpoint over this prefix serves a new archive at once.

    --format json: {"prefix": URL, "uploaded": number, "archives": [{name, key, size, sha256, weights}]}
    """
    aws = Aws()
    chosen = chosen_archives(archives, target, allow_random=allow_random)
    say = output.progress()
    say(f"check: {refuse_faulty(chosen, Destination(common_target(chosen, target)))}")
    place = archive_prefix(aws, endpoint, bucket, prefix)
    total = sum(each.size for each in chosen) / 1e6
    say(f"archives to store in {place.url}: {len(chosen)}, {total:.1f} MB")
    say("cost: S3 storage only, nothing per hour")
    uploaded = upload_archives(aws, place, chosen, say)
    output.document(
        {
            "prefix": place.url,
            "uploaded": uploaded,
            "archives": [
                {"name": each.name, "key": each.key, "size": each.size, "sha256": each.sha256, "weights": each.weights}
                for each in chosen
            ],
        }
    )
    output.result(f"archives uploaded: {uploaded}" if uploaded else "unchanged, nothing to do")
