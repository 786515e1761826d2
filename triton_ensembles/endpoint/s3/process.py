"""Starts and stops the S3 process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import ROOT
from triton_ensembles.processes import die_with_parent
from triton_ensembles.triton.ports import LOOPBACK

_START_SECONDS = 60
# Otherwise glibc keeps the memory of every upload's parts, for each thread, instead of returning it.
_FRUGAL = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": str(128 * 1024)}


class S3Process:
    """moto's server in a separate process, so that its memory, locks and CPU time do not slow down requests.

    Args:
        scratch: an existing folder for its objects.
        log: the file that its standard error is appended to.
    """

    def __init__(self, scratch: Path, log: Path, region: str) -> None:
        self._scratch = scratch
        self._log = log
        self._region = region
        self._process: asyncio.subprocess.Process | None = None
        self.url = ""

    async def start(self) -> None:
        """Return when it listens; ``url`` is set from then on. Raises EnsembleError when it does not start."""
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "triton_ensembles.endpoint.s3.serve"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
                env=os.environ | _FRUGAL | {"TMPDIR": os.fspath(self._scratch), "AWS_DEFAULT_REGION": self._region},
                start_new_session=True,
                preexec_fn=die_with_parent(),
            )
        assert self._process.stdout is not None
        try:
            line = await asyncio.wait_for(self._process.stdout.readline(), _START_SECONDS)
            self.url = f"http://{LOOPBACK}:{int(line)}"
        except (TimeoutError, ValueError) as error:
            await self.stop()
            raise EnsembleError("the S3 server did not start", path=self._log, cure="see its log") from error
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 5)
        except TimeoutError:
            process.kill()
            await process.wait()
