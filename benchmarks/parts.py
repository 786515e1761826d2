"""The parts of the benchmark that load a server: which loads are measured together, and beside what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.loads import IMAGES, SHORT, Load


@dataclass(frozen=True)
class Part:
    """Loads that are measured in turn, each for every contender.

    Attributes:
        ensemble: that is served, drawn and fused.
        served: the loads of servers.
        limit: the batches of the limit.
        engine: the batches of the engine alone, which the floor is made of; the echo then takes the served loads.
        compared: whether the reference and the peers take part.
        precisions: below fp32, in which the fused ensemble is also served.
    """

    ensemble: str
    served: Sequence[Load]
    limit: Sequence[Load] = ()
    engine: Sequence[Load] = ()
    compared: bool = False
    precisions: Sequence[str] = ()


ONE, MANY, BATCH = Load(SHORT, 1, 1), Load(SHORT, 1, 32), Load(SHORT, 32, 8)
IMAGE_ONE, IMAGE_BATCH = Load(IMAGES, 1, 4), Load(IMAGES, 8, 4)
BATCHES = {ONE: Load(SHORT, 1, 0), MANY: Load(SHORT, 32, 0), BATCH: Load(SHORT, 32, 0)} | {
    load: Load(IMAGES, load.rows, 0) for load in (IMAGE_ONE, IMAGE_BATCH)
}
"""The batches of limit or engine that a served load is compared with."""

PARTS: Mapping[str, Part] = {
    "one": Part("bert_trt", [ONE], engine=[BATCHES[ONE]], compared=True, precisions=["int8"]),
    "many": Part("bert_trt", [MANY], engine=[BATCHES[MANY]], compared=True, precisions=["int8"]),
    "batch": Part("bert_trt", [BATCH], limit=[BATCHES[BATCH]], compared=True, precisions=["bf16", "int8"]),
    "images": Part(
        "dali_inception",
        [IMAGE_ONE, IMAGE_BATCH],
        limit=[BATCHES[IMAGE_ONE], BATCHES[IMAGE_BATCH]],
        precisions=["int8"],
    ),
}
