"""The limit: tokenizer, engine and pooling (or DALI and engine) called in a loop, without a server.

:mod:`benchmarks.contenders.limit` runs :func:`serve` in a process for each ensemble and thread setting. It sends the
engine's description, then answers each :class:`Request` with a :class:`Cell`.
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.cells import Cell
from benchmarks.engines import Array, Engine, find_step, open_engine
from benchmarks.loads import IMAGES, Load, images_of, short_texts

Batch = Sequence[Any]


@dataclass(frozen=True)
class Request:
    """``seconds`` of a load for the process ``number`` of ``count`` side by side."""

    load: Load
    number: int
    count: int
    seconds: float


def serve(connection: Connection, repository: Path, threads: int, core: int | None, engine_only: bool) -> None:
    """Answer requests until the connection is closed.

    Args:
        core: to stay on, so that two processes never share one; None: any.
        engine_only: the tokenizer runs beforehand and the pooling never, so that nothing but the engine takes time.
    """
    if core is not None:
        os.sched_setaffinity(0, {core})
    step = find_step(repository)
    engine = open_engine(step, threads)
    if any(repository.rglob("model.dali")):
        call: Callable[[Any], Array] = image_ensemble(repository, engine, step.inputs[0], threads)
    else:
        call = (text_engine if engine_only else text_ensemble)(repository, engine)
    connection.send(f"{step}, {threads} thread{'s' if threads > 1 else ''}")
    while True:
        try:
            request: Request = connection.recv()
        except EOFError:
            return
        load = request.load
        items: Batch = images_of(load) if load.content == IMAGES else short_texts(repository)
        start = request.number * len(items) // request.count  # each process begins elsewhere
        connection.send(measure(call, [*items[start:], *items[:start]], load.rows, request.seconds))


def text_encoder(repository: Path) -> Callable[[Sequence[str]], dict[str, Array]]:
    """Texts -> INT32 [texts, tokens] token_ids and attn_mask, padded to the longest text."""
    from tokenizers import Tokenizer

    folder = next(iter(sorted(repository.rglob("tokenizer.json")))).parent
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"])
    tokenizer.enable_padding(length=None)  # the file pads everything to 128

    def encode(texts: Sequence[str]) -> dict[str, Array]:
        encodings = tokenizer.encode_batch(list(texts))
        ids = np.array([encoding.ids for encoding in encodings], np.int32)
        mask = np.array([encoding.attention_mask for encoding in encodings], np.int32)
        return {"token_ids": ids, "attn_mask": mask}

    return encode


def text_engine(repository: Path, engine: Engine) -> Callable[[Sequence[str]], Array]:
    """Texts -> FP32 [texts, tokens, 384]; each batch is tokenized once, and then only the engine runs."""
    encode = cache(text_encoder(repository))
    return lambda texts: engine(encode(tuple(texts)))


def text_ensemble(repository: Path, engine: Engine) -> Callable[[Sequence[str]], Array]:
    """Texts -> unit vectors FP32 [texts, 384], as the steps of bert_trt make them."""
    encode = text_encoder(repository)

    def embed(texts: Sequence[str]) -> Array:
        arrays = encode(texts)
        hidden = engine(arrays)
        weights = arrays["attn_mask"].astype(np.float32)
        mean = np.matmul(weights[:, None, :], hidden)[:, 0, :] / weights.sum(axis=1, keepdims=True)
        unit: Array = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return unit

    return embed


def image_ensemble(repository: Path, engine: Engine, name: str, threads: int) -> Callable[[Sequence[bytes]], Array]:
    """Encoded images -> probabilities FP32 [images, 1001]; ``name`` is the engine's input."""
    from nvidia.dali import Pipeline

    file = next(iter(repository.rglob("model.dali"))).read_bytes()
    pipeline = Pipeline.deserialize(file, batch_size=32, num_threads=threads, device_id=None, prefetch_queue_depth=1)

    def classify(images: Sequence[bytes]) -> Array:
        pipeline.feed_input("DALI_INPUT_0", [np.frombuffer(image, np.uint8) for image in images])
        (pixels,) = pipeline.run()
        return engine({name: np.asarray(pixels.as_cpu().as_tensor())})

    return classify


def measure(call: Callable[[Batch], Array], items: Batch, rows: int, seconds: float) -> Cell:
    """Repeat the items in batches of ``rows`` for ``seconds``; the latencies are those of the batches."""
    latencies: list[float] = []
    position = 0
    started = now = time.perf_counter()
    while now - started < seconds:
        batch = [items[(position + number) % len(items)] for number in range(rows)]
        before, position = now, position + rows
        call(batch)
        now = time.perf_counter()
        latencies.append(now - before)
    return Cell(len(latencies) * rows / (now - started), 1000 * median(latencies))
