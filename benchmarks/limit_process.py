"""The limit: tokenizer, engine and pooling (or DALI and engine) called in a loop, without a server.

    python -m benchmarks.limit_process REPOSITORY whole|engine THREADS [CORE]

With "engine" the tokenizer runs beforehand and the pooling never, so that nothing but the engine takes time.

Started by :mod:`benchmarks.contenders.limit` for each ensemble and thread setting. It writes {"ready": "…"}, then
answers each line of its standard input, {"load": {…}, "part": [k, n], "seconds": …, "whole": …}, with one line: the
rows that it computed, in how many seconds, and the latencies of the batches. It is the k-th of n processes side by
side; with "whole" it stops only after all of its items, because the first ones of a sorted load are the shortest. With
CORE it stays on that core, so that two of them never share one.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cells import percentiles
from benchmarks.engines import Array, Engine, find_step, open_engine
from benchmarks.loads import IMAGES, Load, images_of, texts_of

Batch = Sequence[Any]


def text_encoder(repository: Path) -> Callable[[Sequence[str]], dict[str, Array]]:
    """Texts -> INT32 [texts, tokens] token_ids and attn_mask, padded to the longest text."""
    from tokenizers import Tokenizer

    folder = next(iter(sorted(repository.rglob("tokenizer.json")))).parent
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"])
    tokenizer.enable_padding(length=None)  # the file pads everything to 128

    def encode(texts: Sequence[str]) -> dict[str, Array]:
        encodings = tokenizer.encode_batch(list(texts))
        ids = np.array([each.ids for each in encodings], np.int32)
        mask = np.array([each.attention_mask for each in encodings], np.int32)
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

    serialized = next(iter(repository.rglob("model.dali"))).read_bytes()
    pipeline = Pipeline.deserialize(
        serialized, batch_size=32, num_threads=threads, device_id=None, prefetch_queue_depth=1
    )

    def classify(images: Sequence[bytes]) -> Array:
        pipeline.feed_input("DALI_INPUT_0", [np.frombuffer(image, np.uint8) for image in images])
        (pixels,) = pipeline.run()
        return engine({name: np.asarray(pixels.as_cpu().as_tensor())})

    return classify


def measure(call: Callable[[Batch], Array], items: Batch, rows: int, seconds: float, whole: bool) -> dict[str, Any]:
    """Repeat the items in batches of ``rows`` for ``seconds``; with ``whole`` until each was used equally often."""
    latencies: list[float] = []
    position = 0
    started = now = time.perf_counter()
    while now - started < seconds or (whole and position % len(items)):
        batch = [items[(position + number) % len(items)] for number in range(rows)]
        before, position = now, position + rows
        call(batch)
        now = time.perf_counter()
        latencies.append(now - before)
    return {"rows": len(latencies) * rows, "seconds": now - started, "latency_ms": percentiles(latencies)}


def main() -> None:
    repository, what, threads = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if len(sys.argv) > 4:
        os.sched_setaffinity(0, {int(sys.argv[4])})
    step = find_step(repository)
    engine = open_engine(step, threads)
    if any(repository.rglob("model.dali")):
        call: Callable[[Any], Array] = image_ensemble(repository, engine, step.inputs[0], threads)
    else:
        call = (text_engine if what == "engine" else text_ensemble)(repository, engine)
    print(json.dumps({"ready": f"{step}, {threads} thread{'s' if threads > 1 else ''}"}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        load = Load(**request["load"])
        items: Batch = images_of(load) if load.content == IMAGES else texts_of(load, repository)
        part = _part(items, load, *request["part"])
        print(json.dumps(measure(call, part, load.rows, request["seconds"], request["whole"])), flush=True)


def _part(items: Batch, load: Load, part: int, parts: int) -> Batch:
    """Of sorted items every n-th, so that all processes have the same lengths; else all, from another start."""
    if load.sorted:
        return items[part::parts]
    start = part * len(items) // parts
    return [*items[start:], *items[:start]]


if __name__ == "__main__":
    main()
