"""The work of the worker: it loads the steps, and answers the stub's questions until the stub closes its end."""

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from mmap import mmap
from pathlib import Path
from typing import NoReturn

from triton_ensembles.runtime.backends.common.model_instance import LoadError
from triton_ensembles.runtime.fused import calls, messages, process_ends
from triton_ensembles.runtime.fused.channel import WorkerEnds
from triton_ensembles.runtime.fused.idle_memory import IdleMemory
from triton_ensembles.runtime.fused.messages import Question
from triton_ensembles.runtime.fused.plan import plan_of

NO_STEP = 255  # in the byte that says which step runs


def work(descriptors: Sequence[int], enter: Callable[[Path], None]) -> NoReturn:
    """Run the worker in a process that was just forked. It must not return into the code of the one before.

    Args:
        descriptors: those of :class:`channel.WorkerEnds`.
        enter: makes what this process has inherited that of a version folder.
    """
    code = 1
    try:
        _Worker(descriptors, enter).serve()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class _Worker:
    def __init__(self, descriptors: Sequence[int], enter: Callable[[Path], None]) -> None:
        ends = WorkerEnds.from_fds(descriptors)
        self._questions, self._answers = ends.questions, ends.answers
        calls.STUB.connect(ends.calls, ends.replies)
        self._step = mmap(ends.step_file, 1)
        plan, folder, self._arguments, server, stub = self._questions.receive()[0]
        self._plan, self._folder = plan_of(plan), Path(folder)
        if os.getppid() != stub:
            process_ends.take_name(stub, f"steps of {folder}")
            process_ends.adopt_orphans()
        process_ends.end_with_stub_and_server(stub, server)
        enter(self._folder)

    def serve(self) -> None:
        from triton_ensembles.runtime.fused.called_models import MODELS
        from triton_ensembles.runtime.fused.counters import Counters
        from triton_ensembles.runtime.fused.loading import load_ensemble

        try:
            ensemble = load_ensemble(self._plan, self._folder, self._arguments, self._enter)
        except LoadError as error:
            self._answers.send(str(error))
            return
        memory = IdleMemory(MODELS.shrink)
        counters = Counters(self._arguments, [step.name for step in self._plan.steps])
        self._step[0] = NO_STEP
        self._answers.send("")
        while (questions := self._next(memory)) is not None:
            answers, counts = ensemble.answer(questions)
            self._step[0] = NO_STEP
            self._answers.send(*messages.written_answers(answers))
            counters.add(counts)
        MODELS.close()
        counters.close()

    def _next(self, memory: IdleMemory) -> Sequence[Question] | None:
        """The next questions; None at the end."""
        memory.wait(self._questions.poll)
        try:
            written, arrays = self._questions.receive()
        except EOFError:
            return None
        return None if written is None else messages.read_questions(written, arrays)

    def _enter(self, step: int) -> int:
        """Note which step runs. Returns the one that ran before."""
        before, self._step[0] = self._step[0], min(step, NO_STEP - 1)
        return before
