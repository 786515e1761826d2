"""Which contenders a run has, and how each is made and started; optional ones may be missing, with the reason."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.bf16 import agreement, answers, built_bf16
from benchmarks.contenders import contender as names
from benchmarks.contenders.contender import Contender
from benchmarks.contenders.limit import Limit
from benchmarks.contenders.local_endpoint import ours_behind_endpoint
from benchmarks.contenders.peer import running_peer
from benchmarks.contenders.served import Served
from benchmarks.engines import Array, find_step
from benchmarks.examples import examples_of
from benchmarks.loads import IMAGES, Load, images_of, served, texts_of
from benchmarks.peers.model import peers_model
from benchmarks.peers.servers import PEERS, Peer
from benchmarks.peers.venv import peers_venv
from benchmarks.reference.build import built_reference
from benchmarks.results import Results
from triton_ensembles.building.build import build
from triton_ensembles.building.places import PLACES
from triton_ensembles.commands.builds import warn_of_random_weights
from triton_ensembles.errors import EnsembleError
from triton_ensembles.progress import Progress
from triton_ensembles.triton.server import TritonServer
from triton_ensembles.triton.targets import CPU

GROUPS = ("limit", "ours", "http", "endpoint", "bf16", "reference", "peers")
ENSEMBLES = {"short": "bert_trt", "long": "bert_trt", "mix": "bert_trt", IMAGES: "dali_inception"}
COMPARED = 100  # texts whose vectors peers and bf16 are compared on

Make = Callable[[], Contender]


class Contest:
    """Makes the contenders of the groups for these contents of loads.

    Args:
        progress: called with one line at a time.
    """

    def __init__(self, groups: Sequence[str], contents: Sequence[str], results: Results, progress: Progress) -> None:
        self._groups, self._contents, self._results, self._progress = groups, contents, results, progress
        self._stack = ExitStack()
        self._servers: dict[Path, TritonServer] = {}
        self._repositories: dict[str, Path] = {}

    @contextmanager
    def started(self) -> Iterator[list[Contender]]:
        """All contenders that can take part, running until the end of the context."""
        with self._stack:
            contenders = []
            for name, optional, make in self._makers():
                self._progress(f"starting {name}")
                try:
                    contender = make()
                except EnsembleError as error:
                    if not optional:
                        raise
                    self._results.missing[name] = str(error)
                    self._progress(f"!!! {name} DOES NOT TAKE PART: {error} !!!")
                    continue
                contenders.append(contender)
                about = self._results.contenders.setdefault(name, {})
                about |= {load.content: contender.about for load in contender.loads}
            yield contenders

    def _makers(self) -> Iterator[tuple[str, bool, Make]]:
        """Name, whether it is optional, and what makes it."""
        for ensemble in dict.fromkeys(ENSEMBLES[content] for content in self._contents):
            contents = [content for content in self._contents if ENSEMBLES[content] == ensemble]
            if "limit" in self._groups:
                yield names.ALL_CORES, False, partial(self._limit, ensemble, contents, side_by_side=False)
                yield names.ONE_THREAD, False, partial(self._limit, ensemble, contents, side_by_side=True)
            if "ours" in self._groups:
                yield names.OURS, False, partial(self._ours, names.OURS, ensemble, self._served(*contents), "grpc")
            # Over HTTP only where the protocol's share of the time is largest, and where the requests are.
            if "http" in self._groups and (loads := self._served(*{"short", IMAGES}.intersection(contents))):
                yield names.OURS_HTTP, False, partial(self._ours, names.OURS_HTTP, ensemble, loads, "http")
            if "bf16" in self._groups and contents != ["long"]:
                yield names.OURS_BF16, True, partial(self._bf16, ensemble, contents)
        if "endpoint" in self._groups and "short" in self._contents:
            yield names.OURS_ENDPOINT, False, self._endpoint
        if "reference" in self._groups and self._served("short", "mix"):
            yield names.REFERENCE, True, self._reference
        if "peers" in self._groups and self._served("short", "mix"):
            for peer in PEERS:
                yield peer.name, True, partial(self._peer, peer)

    def _limit(self, ensemble: str, contents: Sequence[str], *, side_by_side: bool) -> Contender:
        return self._stack.enter_context(Limit(self._repository(ensemble), contents, side_by_side=side_by_side))

    def _ours(self, name: str, ensemble: str, loads: Sequence[Load], protocol: str) -> Contender:
        return self._served_over(name, self._repository(ensemble), loads, protocol)

    def _bf16(self, ensemble: str, contents: Sequence[str]) -> Contender:
        repository = built_bf16(PLACES.ensembles / ensemble, PLACES, self._progress).repository
        loads = [load for load in self._served("short", "mix", IMAGES) if load.content in contents]
        exact, other = (self._answers(ensemble, each) for each in (self._repository(ensemble), repository))
        self._results.agreement[ensemble] = agreement(exact, other, classes=IMAGES in contents)
        self._progress(f"{ensemble} bf16 against fp32: {self._results.agreement[ensemble]}")
        return self._served_over(names.OURS_BF16, repository, loads, "grpc")

    def _endpoint(self) -> Contender:
        self._repository("bert_trt")  # its archive in dist/ must be up to date
        return self._stack.enter_context(ours_behind_endpoint(self._folder, served("short"), self._texts))

    def _reference(self) -> Contender:
        repository = built_reference(self._progress).repository
        return self._served_over(names.REFERENCE, repository, self._served("short", "mix"), "grpc")

    def _peer(self, peer: Peer) -> Contender:
        """Of the mixed loads, the two that goals are about: three peers under all of them take minutes per round."""
        mix = [load for load in self._served("mix") if (load.rows, load.concurrency) in ((1, 32), (32, 8))]
        expected = (self._compared, self._answers("bert_trt", self._texts))
        venv, model = peers_venv(self._progress), peers_model(self._progress)
        loads = self._served("short") + mix
        running = running_peer(peer, venv, model, loads, texts_from=self._texts, expected=expected)
        return self._stack.enter_context(running)

    def _served(self, *contents: str) -> list[Load]:
        return [load for content in contents if content in self._contents for load in served(content)]

    def _served_over(self, name: str, repository: Path, loads: Sequence[Load], protocol: str) -> Contender:
        about, server = f"tritonserver, {find_step(repository)}", self._server(repository)
        return Served(name, about, loads, server, repository.name, protocol, self._folder, self._texts)

    def _server(self, repository: Path) -> TritonServer:
        """The contenders that serve this repository share one."""
        if repository not in self._servers:
            self._servers[repository] = self._stack.enter_context(TritonServer([repository]))
        return self._servers[repository]

    def _answers(self, ensemble: str, repository: Path) -> Array:
        """Vectors of texts, or probabilities of images, from the server with this repository."""
        example = examples_of(ensemble).requests[0]
        if ensemble == "bert_trt":
            output, requests = "finaloutput", [example.with_texts([text]) for text in self._compared]
        else:
            images = [np.frombuffer(image, np.uint8)[None] for image in images_of(Load(IMAGES, 1, 1))]
            output, requests = "OUTPUT", [replace(example, inputs={"INPUT": image}) for image in images]
        return answers(self._server(repository).http_url, repository.name, requests, output)

    @cached_property
    def _folder(self) -> Path:
        return Path(self._stack.enter_context(TemporaryDirectory(prefix="bench-")))

    @cached_property
    def _texts(self) -> Path:
        """Its tokenizer counts the texts of all contenders."""
        return self._repository("bert_trt")

    @cached_property
    def _compared(self) -> list[str]:
        return list(texts_of(Load("mix", 1, 1), self._texts)[:COMPARED])

    def _repository(self, ensemble: str) -> Path:
        if ensemble not in self._repositories:
            folder = PLACES.ensembles / ensemble
            built = build(folder, CPU, PLACES, allow_random=True, weights_dir=None, progress=self._progress)
            warn_of_random_weights(built)
            self._results.facts["weights"][ensemble] = built.manifest["weights"]
            self._repositories[ensemble] = built.repository.resolve()
        return self._repositories[ensemble]
