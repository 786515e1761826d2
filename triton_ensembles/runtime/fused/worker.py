"""The process that the steps run in.

It is forked from Triton's stub, which stays small and outlives it: Triton 24.10 does not start a stub again that died,
so that a step which is killed (by the kernel for its memory, by a fault in a library) would take the model with it.
"""

import contextlib
import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from mmap import mmap
from pathlib import Path
from typing import Any, NoReturn

import triton_python_backend_utils as pb_utils

from triton_ensembles.runtime.backends.common.batching import Array
from triton_ensembles.runtime.backends.common.model_instance import LoadError
from triton_ensembles.runtime.fused import calls, messages, process_ends
from triton_ensembles.runtime.fused.channel import Receiver, Sender, make_channel
from triton_ensembles.runtime.fused.idle_memory import IdleMemory
from triton_ensembles.runtime.fused.messages import Answer, Failure, Question
from triton_ensembles.runtime.fused.plan import Plan

_NO_STEP = 255  # in the byte that says which step runs
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
        process_ends.adopt_orphans()
        self._step = mmap(-1, 1)  # shared with the worker
        self._pid = 0
        self._sender: Sender
        self._receiver: Receiver
        self._answers = calls.Answers()
        self._answering: threading.Thread

    def start(self) -> None:
        """Fork the worker, which begins to load."""
        questions, answers, asked, replies = (make_channel() for _ in range(4))
        self._step[0] = _NO_STEP
        gc.freeze()  # the worker's garbage collector then does not copy the pages of what is alive here
        self._pid = os.fork()
        if not self._pid:
            for ours in (questions[0], answers[1], asked[1], replies[0]):
                ours.close()
            calls.STUB.connect(asked[0], replies[1])
            self._work(questions[1], answers[0])
        for theirs in (questions[1], answers[0], asked[0], replies[1]):
            theirs.close()
        self._sender, self._receiver = questions[0], answers[1]
        self._answering = threading.Thread(target=self._answers.serve, args=(asked[1], replies[0]), daemon=True)
        self._answering.start()

    def wait_until_loaded(self) -> None:
        """Raises :class:`LoadError` when the worker cannot load the steps, or dies."""
        try:
            error = self._receive()[0]
        except WorkerDiedError as died:
            raise LoadError(str(died)) from None
        if error:
            raise LoadError(error)

    def ask(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """One answer for each question. A worker that died is started again, before or for the next questions."""
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
        if not self._pid:
            self.start()
            self.wait_until_loaded()
        with contextlib.suppress(OSError):  # a worker that is gone does not answer
            self._sender.send(*messages.written_questions(questions))
        return messages.read_answers(*self._receive())

    def stop(self) -> None:
        """Let the steps finish, end the worker, and delete the metrics, some of which would outlive the stub."""
        if self._pid:
            with contextlib.suppress(OSError):
                self._sender.send(None)
            self._reap()
        self._answering.join(_LOOK_SECONDS)
        self._answers.close()

    def _receive(self) -> tuple[Any, list[Array]]:
        """The next message of the worker. Raises :class:`WorkerDiedError`."""
        try:
            while not self._receiver.poll(_LOOK_SECONDS):
                if os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                    raise EOFError
            return self._receiver.receive()
        except (EOFError, OSError):
            began = self._step[0] != _NO_STEP
            raise WorkerDiedError(self._end(), began=began) from None

    def _end(self) -> str:
        """How the worker ended."""
        step, status = self._step[0], self._reap()
        subject = f"the step {self._plan.models[step].name}" if step != _NO_STEP else "the process of the steps"
        if os.WIFSIGNALED(status):
            return f"{subject} was killed by {signal.Signals(os.WTERMSIG(status)).name}"
        return f"{subject} ended the process with exit code {os.WEXITSTATUS(status)}"

    def _reap(self) -> int:
        pid, self._pid = self._pid, 0
        self._sender.close()
        self._receiver.close()
        status = os.waitpid(pid, 0)[1]
        process_ends.end_orphans()  # the steps' own processes: the next worker starts its own
        return status

    def _work(self, receiver: Receiver, sender: Sender) -> NoReturn:
        """Run the worker until the stub closes its end. It must not return into the stub's code."""
        code = 1
        try:
            process_ends.end_with_stub_and_server(self._server)
            self._forget_stub()
            self._serve(receiver, sender)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _serve(self, receiver: Receiver, sender: Sender) -> None:
        from triton_ensembles.runtime.fused.called_models import MODELS
        from triton_ensembles.runtime.fused.counters import Counters
        from triton_ensembles.runtime.fused.loading import load_ensemble

        try:
            ensemble = load_ensemble(self._plan, self._folder, self._arguments, self._enter)
        except LoadError as error:
            sender.send(str(error))
            return
        memory = IdleMemory(MODELS.shrink)
        counters = Counters(self._arguments, [step.name for step in self._plan.steps])
        self._step[0] = _NO_STEP
        sender.send("")
        while (questions := _next(receiver, memory)) is not None:
            answers, counts = ensemble.answer(questions)
            self._step[0] = _NO_STEP
            sender.send(*messages.written_answers(answers))
            counters.add(counts)
        MODELS.close()
        counters.close()

    def _forget_stub(self) -> None:
        """The threads that send log lines and metrics to the server are in the stub, not in this process."""
        pb_utils.Logger, pb_utils.MetricFamily = calls.Logger, calls.MetricFamily
        for name in [name for name in sys.modules if name.partition(".")[0] == self._folder.name]:
            del sys.modules[name]  # "1.model", as the steps' own modules are called
        if not hasattr(sys.modules.get("asyncio"), "__path__"):  # the stub's, for Triton only
            sys.modules.pop("asyncio", None)

    def _enter(self, step: int) -> int:
        """Note which step runs. Returns the one that ran before."""
        before, self._step[0] = self._step[0], min(step, _NO_STEP - 1)
        return before


def _next(receiver: Receiver, memory: IdleMemory) -> Sequence[Question] | None:
    """The next questions; None at the end."""
    memory.wait(receiver.poll)
    try:
        written, arrays = receiver.receive()
    except EOFError:
        return None
    return None if written is None else messages.read_questions(written, arrays)
