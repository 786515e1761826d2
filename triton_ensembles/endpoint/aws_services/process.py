"""Starts and stops the S3 process."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.paths import IMPORTED_FROM
from triton_ensembles.ground.processes import die_with_parent
from triton_ensembles.triton.ports import LOOPBACK

_START_SECONDS = 60
# Otherwise glibc keeps the memory of every upload's parts, for each thread, instead of returning it.
_FRUGAL = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": str(128 * 1024)}


@asynccontextmanager
async def s3_process(scratch: Path, log: Path, region: str) -> AsyncIterator[str]:
    """moto's server in a separate process, so that its memory, locks and CPU time do not slow down requests.

    Yields its URL, as soon as it listens. Its objects are in the folder ``scratch``.
    """
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "triton_ensembles.endpoint.aws_services.serve"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=IMPORTED_FROM,
            env=os.environ | _FRUGAL | {"TMPDIR": os.fspath(scratch), "AWS_DEFAULT_REGION": region},
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )
    try:
        assert process.stdout is not None
        try:
            port = int(await asyncio.wait_for(process.stdout.readline(), _START_SECONDS))
        except (TimeoutError, ValueError) as error:
            raise EnsembleError("the S3 server did not start", path=log, cure="see its log") from error
        yield f"http://{LOOPBACK}:{port}"
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), 5)
            except TimeoutError:
                process.kill()
                await process.wait()
