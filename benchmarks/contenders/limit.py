"""The limit, in its own processes: one with a thread for each core, one with one thread, or such a one for each core.

The engine alone, which the floor is made of, is measured in the same way.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.cells import Cell
from benchmarks.loads import Load
from benchmarks.process_usage import cores, seconds_of
from checkout import ROOT
from triton_ensembles.errors import EnsembleError
from triton_ensembles.processes import die_with_parent


class Limit:
    """Engine and model file of the built ``repository`` without a server.

    Args:
        loads: of concurrency 0.
        threads: of each process.
        processes: side by side, each on a core of its own if there are several.
        engine_only: without tokenizer and pooling; for texts.
    """

    def __init__(
        self, name: str, repository: Path, loads: Sequence[Load], *, threads: int, processes: int, engine_only: bool
    ) -> None:
        self.name, self.loads = name, loads
        self.about = ""
        self._command = [os.fspath(repository.resolve()), "engine" if engine_only else "whole"]
        own = [[str(core)] for core in sorted(os.sched_getaffinity(0))[:processes]] if processes > 1 else [[]]
        self._arguments = [[str(threads), *core] for core in own]
        self._processes: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Limit:
        for arguments in self._arguments:
            process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.limit_process", *self._command, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # TensorFlow's notices
                text=True,
                cwd=ROOT,
                start_new_session=True,  # Ctrl-C stops this process, which then stops the child
                preexec_fn=die_with_parent(),
            )
            self._processes.append(process)
        ready = [self._answer(process)["ready"] for process in self._processes]
        self.about = f"{len(ready)} {'process' if len(ready) == 1 else 'processes'}: {ready[0]}"
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            with process:  # closes its pipes and waits for its end
                process.terminate()

    def warm_up(self, load: Load) -> None:
        self._run(load, 1, whole=False)

    def measure(self, load: Load, seconds: float, warm_up: float) -> Cell:
        self._run(load, warm_up, whole=False)
        before = self._processor_time()
        answers = self._run(load, seconds, whole=load.sorted)
        longest = max(answer["seconds"] for answer in answers)
        return Cell(
            throughput=sum(answer["rows"] / answer["seconds"] for answer in answers),
            latency_ms=answers[0]["latency_ms"],
            cpu=cores(before, self._processor_time(), longest),
        )

    def _run(self, load: Load, seconds: float, *, whole: bool) -> list[dict[str, Any]]:
        request = {"load": asdict(load), "seconds": seconds, "whole": whole}
        for number, process in enumerate(self._processes):
            assert process.stdin is not None
            process.stdin.write(json.dumps(request | {"part": [number, len(self._processes)]}) + "\n")
            process.stdin.flush()
        return [self._answer(process) for process in self._processes]

    def _answer(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            command = " ".join(process.args) if isinstance(process.args, list) else str(process.args)
            raise EnsembleError(f"the process of {self.name} has ended", cure=f"run it to see why: {command}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _processor_time(self) -> dict[str, float]:
        return {"limit": sum(seconds_of(process.pid) for process in self._processes)}
