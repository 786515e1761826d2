"""The engines of the gateway's models without anything in front of them: the bound of both gateways."""

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from tokenizers import BertWordPieceTokenizer

from benchmarks.cells import Cell, percentiles
from benchmarks.engines import Array, Engine, find_step, open_engine
from benchmarks.gateway_requests import texts_of_bert
from benchmarks.process_usage import seconds_of

BATCHES = (1, 8)


class Engines:
    """Those of the built ensembles ``repositories``, by model, on all cores. Each is opened when it is first used."""

    def __init__(self, repositories: Mapping[str, Path]) -> None:
        self._repositories = repositories
        self._open: dict[str, Engine] = {}

    def cells(self, model: str, seconds: float) -> Iterator[tuple[int, Cell]]:
        """For each size of a batch; none for a model that has no repository here."""
        if repository := self._repositories.get(model):
            if model not in self._open:
                self._open[model] = open_engine(find_step(repository), len(os.sched_getaffinity(0)))
            for rows in BATCHES:
                yield rows, _cell(self._open[model], _inputs(model, repository, rows), rows, seconds)


def _cell(engine: Engine, inputs: Mapping[str, Array], rows: int, seconds: float) -> Cell:
    engine(inputs)
    latencies: list[float] = []
    used, began = seconds_of(os.getpid()), time.perf_counter()
    while sum(latencies) < seconds:
        before = time.perf_counter()
        engine(inputs)
        latencies.append(time.perf_counter() - before)
    took = time.perf_counter() - began
    cores = (seconds_of(os.getpid()) - used) / took
    return Cell(len(latencies) * rows / took, percentiles(latencies), {"engine": cores})


def _inputs(model: str, repository: Path, rows: int) -> dict[str, Array]:
    """Of the shapes that the examples have."""
    if model != "bert_base":
        name, side = {"resnet": ("input", 224), "yolov5": ("images", 640)}[model]
        return {name: np.random.default_rng(0).random((rows, 3, side, side), dtype=np.float32)}
    tokenizer = BertWordPieceTokenizer(str(next(repository.rglob("vocab.txt"))), lowercase=True)
    texts = texts_of_bert()
    found = [tokenizer.encode(texts[number % len(texts)]).ids for number in range(rows)]
    ids = np.zeros((rows, max(map(len, found))), np.int32)
    for row, each in zip(ids, found, strict=True):
        row[: len(each)] = each
    return {"token_ids": ids, "attn_mask": (ids > 0).astype(np.int32)}
