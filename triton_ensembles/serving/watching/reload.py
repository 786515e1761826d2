"""Has a running server load what has changed, and says what came of it, in Triton's words where it refuses."""

import contextlib
import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.ground.spelling import most_of
from triton_ensembles.probing.load import LostError, wait_for_answer
from triton_ensembles.server.repository_api import RepositoryApi
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.serving.watching.snapshot import Snapshot, changes, models_of
from triton_ensembles.serving.watching.source import WatchedSource
from triton_ensembles.triton.model_config import CONFIG, read_config


class StuckError(Exception):
    """The server waits for ever for a model that has changed: only another server can load it."""


class Reloader:
    """Loads and unloads models of ``server``, which runs in its explicit mode; ``say`` is told what happened."""

    def __init__(self, server: TritonServer, say: Progress) -> None:
        self._server, self._say = server, say
        self._api = RepositoryApi(server.http_url, server.secret)
        self._failed: set[str] = set()  # ensembles that may load once their steps do
        self._stuck: set[str] = set()  # models whose load never ends

    def reload(self, source: WatchedSource, before: Snapshot, now: Snapshot) -> None:
        """Load the models of the repository in which files differ from ``before``; unload those that are gone.
        Raises :class:`StuckError`."""
        repository, changed = source.repository, changes(before, now)
        by_model = models_of(changed)
        there = set(models_of(now))
        failed = set(self._failed)  # what fails from here on has just been tried
        self._unload([model for model in by_model if model not in there])
        waiting = {model for model in by_model if model in there}
        for model in waiting:
            _renew(repository, by_model[model], before, now)
        steps = _steps_by_ensemble(repository, there)
        for model in sorted(waiting, key=lambda each: (each not in steps, each)):
            if model in waiting:
                paths, below = list({source.shown(path) for path in by_model[model]}), _below(model, steps)
                if stuck := self._stuck & {model, *below}:
                    raise StuckError(f"it still waits for the process of {most_of(sorted(stuck))} that has ended")
                loaded = self._load(model, paths, below & waiting)
                waiting -= {model, *loaded}
        self._failed -= self._api.ready()  # Triton itself loads an ensemble that was served once
        for model in sorted(failed & self._failed & there - set(by_model)):
            self._load(model, [], set())

    def _unload(self, models: Sequence[str]) -> None:
        for model in models:
            start = self._log_size()
            with self._observed() as lost:
                reason = self._api.unload(model)
            self._say(f"not unloaded: {model}: {reason}" if reason else f"unloaded {model}: its folder is gone")
            self._failed.discard(model)
            self._report(lost - {model}, start)

    def _load(self, model: str, paths: Sequence[str], others: Iterable[str]) -> set[str]:
        """Returns what need not be loaded any more. ``others``: steps of ``model`` that have changed, too."""
        start, began, was_served = self._log_size(), time.monotonic(), model in self._api.ready()
        with self._observed() as lost:
            refused = self._refused(model, paths, start)
        seconds = time.monotonic() - began
        if not refused:
            self._failed.discard(model)
            loaded = self._server.loaded(start)
            if paths or loaded:
                also_loaded = [name for name in loaded if name != model]
                with_it = f", and with it {most_of(also_loaded)}" if also_loaded else ""
                verb = "reloaded" if was_served else "loaded"
                why = f" ({most_of(sorted(paths), 3)})" if paths else ""
                self._say(f"{verb} {model} in {seconds:.1f} s{why}{with_it}")
            self._report(lost - {model}, start)
            return {model, *others}
        self._failed.add(model)
        if paths:
            serves = model in self._api.ready()
            then = "the version before still serves" if serves else "it is not served"
            self._say(f"not loaded: {self._reason(model, refused, start)}; {then}")
        self._report(lost - {model}, start)
        return {model}

    def _refused(self, model: str, paths: Sequence[str], start: int) -> str:
        """Load the model; returns why it failed, "" if it did not. One whose process crashes is waited for no more."""
        wait = partial(wait_for_answer, server=self._server, seconds=math.inf, start=start)
        try:
            return replace(self._api, wait=wait).load(model)
        except LostError as error:
            if self._server.crashed():
                raise EnsembleError(f"tritonserver ended: {error}", path=self._server.log) from error
            self._stuck |= set(self._server.unfinished_loads(start))
            return f"{error} ({most_of(sorted(paths), 3)})" if paths else str(error)

    @contextlib.contextmanager
    def _observed(self) -> Iterator[set[str]]:
        """Note models that were served before the block and are not after it."""
        lost: set[str] = set()
        before = self._api.ready()
        yield lost
        lost |= before - self._api.ready()

    def _report(self, lost: set[str], start: int) -> None:
        for model in sorted(lost):
            self._failed.add(model)
            self._say(f"{model} is not served any more: {self._reason(model, 'Triton does not say why', start)}")

    def _reason(self, model: str, refused: str, start: int) -> str:
        """Why ``model`` is not loaded: what the log says of it since ``start``, or of what it depends on."""
        reasons = self._server.reasons(start)
        own = [sentence for sentence in reasons if re.search(rf"(?<![\w.-]){re.escape(model)}(?![\w.-])", sentence)]
        reason = "; ".join(own or reasons) or refused
        return reason if own or reason.startswith(f"{model}: ") else f"{model}: {reason}"

    def _log_size(self) -> int:
        return self._server.log.stat().st_size


def _renew(repository: Path, paths: Iterable[str], before: Snapshot, now: Snapshot) -> None:
    """Triton takes a model for unchanged when the newest time stamp in its folder is not newer than at its last load,
    as after ``cp -p`` of an older file. The folder of such a file then gets the time of now, as by a new name in it."""
    for path in paths:
        model = path.partition("/")[0]
        newest = max((facts[0] for name, facts in before.items() if name.startswith(f"{model}/")), default=0)
        if path in now and now[path][0] <= newest:
            with contextlib.suppress(OSError):
                os.utime((repository / path).parent)


def _steps_by_ensemble(repository: Path, models: Iterable[str]) -> dict[str, set[str]]:
    by_ensemble: dict[str, set[str]] = {}
    for model in models:
        with contextlib.suppress(EnsembleError):
            if steps := read_config(repository / model / CONFIG).ensemble_scheduling.step:
                by_ensemble[model] = {step.model_name for step in steps}
    return by_ensemble


def _below(model: str, steps: Mapping[str, set[str]]) -> set[str]:
    """Every model that the ensemble ``model`` is made of; empty for another model."""
    below: set[str] = set()
    waiting = [model]
    while waiting:
        new = steps.get(waiting.pop(), set()) - below
        below |= new
        waiting += new
    return below - {model}
