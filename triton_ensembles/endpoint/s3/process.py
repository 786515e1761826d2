"""The S3 process as its parent sees it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import ROOT
from triton_ensembles.processes import die_with_parent
from triton_ensembles.triton.ports import LOOPBACK

_START_SECONDS = 60
# glibc would keep the memory of every upload's parts, for each thread, instead of giving it back.
_FRUGAL = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": str(128 * 1024)}


class S3Process:
    """moto's server in a process of its own: its memory, its locks and its CPU time are not those of requests.

    Args:
        scratch: an existing folder for its objects.
        log: what it writes on standard error goes there.
        buckets: local folders that stand as buckets.
    """

    def __init__(self, scratch: Path, log: Path, buckets: Mapping[str, Path], region: str) -> None:
        self._scratch = scratch
        self._log = log
        self._buckets = buckets
        self._region = region
        self._process: asyncio.subprocess.Process | None = None
        self.url = ""

    async def start(self) -> None:
        """Returns when it listens; ``url`` is known from then on."""
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "triton_ensembles.endpoint.s3.serve"),
                *(f"{name}={folder.resolve()}" for name, folder in self._buckets.items()),
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
