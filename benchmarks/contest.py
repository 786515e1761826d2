"""The contenders of a part of the benchmark, made and started; optional ones may be missing."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.contenders import contender as names
from benchmarks.contenders.contender import Contender
from benchmarks.contenders.limit import Limit
from benchmarks.contenders.peer import running_peer
from benchmarks.contenders.served import Served
from benchmarks.echo import write_echo
from benchmarks.engines import find_step
from benchmarks.examples import answers_of, lowest_cosine
from benchmarks.parts import Part
from benchmarks.peers.model import peers_model
from benchmarks.peers.servers import PEERS, Peer
from benchmarks.peers.venv import peers_venv
from benchmarks.reference.build import built_reference
from benchmarks.results import Results
from benchmarks.variants import built_ensemble, built_variant, with_precision
from triton_ensembles.commands.common.output import warn_of_random_weights
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.targets import CPU, Target, fused

GROUPS = ("limit", "engine", "echo", "fused", "drawn", "bf16", "int8", "reference", "peers")
_OPTIONAL = ("bf16", "int8", "reference", "peers")

Make = Callable[[], Contender]


class Contest:
    """Makes the contenders of a part, of these groups.

    Args:
        progress: called with one line at a time.
    """

    def __init__(self, part: Part, groups: Sequence[str], results: Results, progress: Progress) -> None:
        self._part, self._groups, self._results, self._progress = part, groups, results, progress
        self._stack = ExitStack()
        self._servers: dict[Path, TritonServer] = {}
        self._built: dict[tuple[str, Target], Path] = {}

    @contextmanager
    def started(self) -> Iterator[list[Contender]]:
        """All contenders that can take part, running until the end of the context."""
        with self._stack:
            contenders = []
            for group, name, make in self._makers():
                if group not in self._groups:
                    continue
                self._progress(f"starting {name}")
                try:
                    contender = make()
                except EnsembleError as error:
                    if group not in _OPTIONAL:
                        raise
                    self._results.missing[name] = str(error)
                    self._progress(f"!!! {name} DOES NOT TAKE PART: {error} !!!")
                    continue
                contenders.append(contender)
                self._results.contenders[name] = contender.about
            yield contenders

    def _makers(self) -> Iterator[tuple[str, str, Make]]:
        """The group of each contender, its name, and the function that makes it."""
        part, cores = self._part, len(os.sched_getaffinity(0))
        if part.limit:
            yield "limit", names.ALL_CORES, partial(self._limit, names.ALL_CORES, threads=cores)
            yield "limit", names.ONE_THREAD, partial(self._limit, names.ONE_THREAD, processes=cores)
        if part.engine:
            if part.served[0].concurrency == 1:
                yield "engine", names.ENGINE, partial(self._limit, names.ENGINE, threads=cores)
                yield "engine", names.ENGINE_ONE_THREAD, partial(self._limit, names.ENGINE_ONE_THREAD)
            else:
                yield "engine", names.ENGINE_EACH_CORE, partial(self._limit, names.ENGINE_EACH_CORE, processes=cores)
            yield "echo", names.ECHO, self._echo
        yield "fused", names.FUSED, lambda: self._served(names.FUSED, self._fused)
        yield "drawn", names.DRAWN, lambda: self._served(names.DRAWN, self._drawn)
        for precision in part.precisions:
            yield precision, names.LOWER[precision], partial(self._fused_in, precision)
        if "int8" in part.precisions and part.limit and part.compared:
            yield "int8", names.ENGINE_INT8, self._engine_int8
        if part.compared:
            yield "reference", names.REFERENCE, self._reference
            for peer in PEERS:
                yield "peers", peer.name, partial(self._peer, peer)

    def _limit(self, name: str, *, threads: int = 1, processes: int = 1) -> Contender:
        loads, engine_only = (self._part.limit, False) if name in names.LIMITS else (self._part.engine, True)
        limit = Limit(name, self._drawn, loads, threads=threads, processes=processes, engine_only=engine_only)
        return self._stack.enter_context(limit)

    def _served(self, name: str, repository: Path, about: str = "") -> Contender:
        about = f"tritonserver, {about or find_step(repository)}"
        server = self._server(repository)
        return Served(name, about, self._part.served, server, repository.name, self._folder, self._texts)

    def _echo(self) -> Contender:
        return self._served(names.ECHO, write_echo(self._fused), "a Python model")

    def _reference(self) -> Contender:
        return self._served(names.REFERENCE, built_reference(self._progress).repository)

    def _fused_in(self, precision: str) -> Contender:
        variant = self._variant(precision)
        if find_step(variant).precision != precision:
            raise EnsembleError(f"the engine of this ensemble does not compute in {precision}", path=variant)
        if self._part.compared:
            (_, fp32), (_, lower) = (answers_of(self._server(form), form) for form in (self._fused, variant))
            self._results.cosines[f"{self._part.ensemble}_{precision}"] = lowest_cosine(fp32, lower)
        return self._served(names.LOWER[precision], variant)

    def _engine_int8(self) -> Contender:
        loads, threads = self._part.limit, len(os.sched_getaffinity(0))
        limit = Limit(names.ENGINE_INT8, self._variant("int8"), loads, threads=threads, processes=1, engine_only=True)
        return self._stack.enter_context(limit)

    def _variant(self, precision: str) -> Path:
        edit = partial(with_precision, precision)
        return built_variant(self._part.ensemble, precision, edit, fused(), self._progress).repository.resolve()

    def _peer(self, peer: Peer) -> Contender:
        venv, model = peers_venv(self._progress), peers_model(self._progress)
        expected = answers_of(self._server(self._fused), self._fused)
        running = running_peer(peer, venv, model, self._part.served, texts_from=self._texts, expected=expected)
        return self._stack.enter_context(running)

    def _server(self, repository: Path) -> TritonServer:
        if repository not in self._servers:
            self._servers[repository] = self._stack.enter_context(TritonServer([repository], completes=False))
        return self._servers[repository]

    @cached_property
    def _folder(self) -> Path:
        return Path(self._stack.enter_context(TemporaryDirectory(prefix="bench-")))

    @property
    def _texts(self) -> Path:
        """The repository whose tokenizer counts the texts of all contenders."""
        return self._repository("bert_trt", CPU)

    @property
    def _drawn(self) -> Path:
        return self._repository(self._part.ensemble, CPU)

    @property
    def _fused(self) -> Path:
        return self._repository(self._part.ensemble, fused())

    def _repository(self, ensemble: str, target: Target) -> Path:
        key = (ensemble, target)
        if key not in self._built:
            built = built_ensemble(ensemble, target, self._progress)
            warn_of_random_weights(built.name, random=built.random)
            self._results.facts["weights"][built.name] = built.manifest["weights"]
            self._built[key] = built.repository.resolve()
        return self._built[key]
