"""The worker, the process that the steps run in, as Triton's stub supervises it.

The stub stays small and outlives it: Triton 24.10 does not start a stub again that died, so that a step which is killed
(by the kernel for its memory, by a fault in a library) would take the model with it.
"""

import contextlib
import gc
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from mmap import mmap
from pathlib import Path
from typing import Any

from triton_ensembles.runtime.backends.common.batching import Array
from triton_ensembles.runtime.backends.common.model_instance import LoadError
from triton_ensembles.runtime.fused import calls, fork_server, messages, process_ends
from triton_ensembles.runtime.fused.channel import End, Receiver, Sender, WorkerEnds, make_channel
from triton_ensembles.runtime.fused.fork_server import Fork
from triton_ensembles.runtime.fused.inherited_modules import forget_stub
from triton_ensembles.runtime.fused.messages import Answer, Failure, Question
from triton_ensembles.runtime.fused.plan import Plan
from triton_ensembles.runtime.fused.worker_process import NO_STEP, work

_LOOK_SECONDS = 1.0  # how often a silent worker is looked at: a child of it may hold its end of the pipe open


class WorkerDiedError(Exception):
    """The worker ended on its own; the text says in which step and how. ``began``: whether a step had begun."""

    def __init__(self, message: str, *, began: bool) -> None:
        super().__init__(message)
        self.began = began


class Worker:
    """A worker and its supervision, in the stub."""

    def __init__(self, plan: Plan, folder: Path, arguments: Mapping[str, str]) -> None:
        self._plan, self._folder, self._arguments = plan, folder, dict(arguments)
        self._server = os.getppid()
        self._step_file = os.memfd_create("step")
        os.ftruncate(self._step_file, 1)
        self._step = mmap(self._step_file, 1)  # shared with the worker
        self._process: Child | Fork | None = None
        self._sender: Sender
        self._receiver: Receiver
        self._answers = calls.Answers()
        self._answering: threading.Thread

    def start(self, *, shared: bool) -> None:
        """Fork the worker, which begins to load. ``shared``: from a fork server, which is started if there is none."""
        questions, answers, asked, replies = (make_channel() for _ in range(4))
        ours = (questions[0], answers[1], asked[1], replies[0])
        theirs = WorkerEnds(questions[1], answers[0], asked[0], replies[1], self._step_file)
        self._step[0] = NO_STEP
        self._sender, self._receiver = questions[0], answers[1]
        plan = replace(self._plan, files={}).as_json()
        self._sender.send((plan, str(self._folder), self._arguments, self._server, os.getpid()))
        descriptors = theirs.fds()
        self._process = self._joined(descriptors, start=shared) or Child(descriptors, ours)
        theirs.close()
        self._answering = threading.Thread(target=self._answers.serve, args=(asked[1], replies[0]), daemon=True)
        self._answering.start()

    def _joined(self, descriptors: Sequence[int], *, start: bool) -> Fork | None:
        """The worker forked by the fork server; None if there is none."""
        if not fork_server.is_possible():
            return None
        address = fork_server.address_of(self._plan, self._server)
        connection = fork_server.connect(address)
        with contextlib.suppress(OSError):
            if connection:
                return Fork(connection, descriptors)
        with contextlib.suppress(OSError):
            if start:
                return Fork(fork_server.start(address, self._plan, self._folder, work), descriptors)
        return None

    def share(self) -> None:
        """The files are proven: let others use the fork server, if this started one."""
        if isinstance(self._process, Fork):
            self._process.publish()

    def wait_until_loaded(self) -> None:
        """Raises :class:`LoadError` when the worker cannot load the steps, or dies."""
        try:
            error = self._receive()[0]
        except WorkerDiedError as died:
            raise LoadError(str(died)) from None
        if error:
            raise LoadError(error)

    def ask(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """Return an answer for each question. A worker that died is started again, before or for the next questions."""
        try:
            try:
                return self._asked(questions)
            except WorkerDiedError as died:
                if died.began:
                    raise
                return self._asked(questions)  # it died before a step began
        except (WorkerDiedError, LoadError) as error:
            name = self._arguments["model_name"]
            return [Failure(f"in ensemble '{name}', {error}")] * len(questions)

    def _asked(self, questions: Sequence[Question]) -> Sequence[Answer]:
        if not self._process:
            self.start(shared=False)
            self.wait_until_loaded()
        with contextlib.suppress(OSError):  # a worker that is gone does not answer
            self._sender.send(*messages.written_questions(questions))
        return messages.read_answers(*self._receive())

    def stop(self) -> None:
        """Let the steps finish, end the worker, and delete the metrics, some of which would outlive the stub."""
        if self._process:
            with contextlib.suppress(OSError):
                self._sender.send(None)
            self._reap()
        self._answering.join(_LOOK_SECONDS)
        self._answers.close()

    def _receive(self) -> tuple[Any, list[Array]]:
        """The next message of the worker. Raises :class:`WorkerDiedError`."""
        try:
            while not self._receiver.poll(_LOOK_SECONDS):
                if self._process is None or self._process.has_ended():
                    raise EOFError
            return self._receiver.receive()
        except (EOFError, OSError):
            began = self._step[0] != NO_STEP
            raise WorkerDiedError(self._end(), began=began) from None

    def _end(self) -> str:
        """Return how the worker ended."""
        step, status = self._step[0], self._reap()
        subject = f"the step {self._plan.models[step].name}" if step != NO_STEP else "the process of the steps"
        if status is None:
            return f"{subject} ended, and what could say how, its fork server, has ended, too"
        if os.WIFSIGNALED(status):
            return f"{subject} was killed by {signal.Signals(os.WTERMSIG(status)).name}"
        return f"{subject} ended the process with exit code {os.WEXITSTATUS(status)}"

    def _reap(self) -> int | None:
        self._sender.close()
        self._receiver.close()
        process, self._process = self._process, None
        return process.wait() if process else None


class Child:
    """A worker that the stub forks itself."""

    def __init__(self, descriptors: Sequence[int], stubs: Sequence[End]) -> None:
        process_ends.adopt_orphans()
        gc.freeze()  # the worker's garbage collector then does not copy the pages of what is alive here
        self._pid = os.fork()
        if not self._pid:
            for end in stubs:
                end.close()
            work(descriptors, forget_stub)

    def has_ended(self) -> bool:
        return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def wait(self) -> int:
        """Wait for the end: the status of waitpid. The steps' own processes end, too: the next worker starts others."""
        status = os.waitpid(self._pid, 0)[1]
        process_ends.end_orphans()
        return status
