"""The throughput of one contender compared with the best of others, as docs/performance.md and GOALS.md state it."""

from collections.abc import Sequence
from statistics import median

from benchmarks.contenders.contender import ENGINE_INT8, FUSED, LIMITS, LOWER, PEER_NAMES, REFERENCE
from benchmarks.floor import floor
from benchmarks.loads import Load
from benchmarks.parts import BATCH, BATCHES, IMAGE_BATCH, MANY, ONE
from benchmarks.results import Results, ratio_of
from benchmarks.tables import Table
from benchmarks.throughput import rate

_RIVALS: Sequence[tuple[str, Load, str, Sequence[str], Load]] = (
    (FUSED, ONE, "the best peer", PEER_NAMES, ONE),
    (FUSED, MANY, "the best peer", PEER_NAMES, MANY),
    (FUSED, MANY, REFERENCE, [REFERENCE], MANY),
    (LOWER["bf16"], BATCH, "the best peer", PEER_NAMES, BATCH),
    (LOWER["int8"], BATCH, "the best peer", PEER_NAMES, BATCH),
    (LOWER["int8"], BATCH, ENGINE_INT8, [ENGINE_INT8], BATCHES[BATCH]),
    *((LOWER["int8"], load, FUSED, [FUSED], load) for load in (ONE, MANY, BATCH, IMAGE_BATCH)),
    (FUSED, IMAGE_BATCH, "limit", LIMITS, BATCHES[IMAGE_BATCH]),
)


def ratios_table(results: Results) -> Table:
    """The ratios that were measured: of each round with itself, and of them the median."""
    compared = [(name, load, other, results.best(rivals, of)) for name, load, other, rivals, of in _RIVALS]
    compared += [(FUSED, load, "floor", floor(results, load)) for load in (ONE, MANY)]
    rows = []
    for name, load, other, rivals in compared:
        own = results.rates(name, load)
        if ratio := ratio_of(own, rivals):
            rows.append([str(load), name, rate(own.values()), f"{ratio:.2f} of {other}, {median(rivals.values()):.1f}"])
    return Table("Ratios", ["", "", "rows a second", "compared"], rows, "Each round is compared with itself.")
