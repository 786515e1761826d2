"""docs/performance.md out of measurements: python -m benchmarks.page

Reads PART.json of python -m benchmarks.bench from reports/bench/ and fills the text of page.md: all parts, or as many
as there are for another page (--output).
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.bench import ALL_PARTS
from benchmarks.contenders.contender import ENGINE_INT8, FUSED, LIMITS, LOWER, ONE_INSTANCE, PEER_NAMES, REFERENCE
from benchmarks.floor import floor
from benchmarks.loads import Load
from benchmarks.parts import BATCH, BATCHES, IMAGE_BATCH, MANY, ONE
from benchmarks.results import Results, joined, ratio_of, read_parts
from benchmarks.tables import Table, markdown
from benchmarks.throughput import throughput_table
from checkout import REPORTS, ROOT
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import write_file

PAGE = ROOT / "docs" / "performance.md"
TEMPLATE = Path(__file__).with_name("page.md")
_RATIOS: Mapping[str, tuple[str, Load, Sequence[str], Load]] = {
    "one_peer": (FUSED, ONE, PEER_NAMES, ONE),
    "many_peer": (FUSED, MANY, PEER_NAMES, MANY),
    "many_reference": (FUSED, MANY, [REFERENCE], MANY),
    "bf16_peer": (LOWER["bf16"], BATCH, PEER_NAMES, BATCH),
    "int8_peer": (LOWER["int8"], BATCH, PEER_NAMES, BATCH),
    "int8_fp32": (LOWER["int8"], BATCH, [FUSED], BATCH),
    "int8_engine": (LOWER["int8"], BATCH, [ENGINE_INT8], BATCHES[BATCH]),
    "int8one_fp32": (LOWER["int8"], ONE, [FUSED], ONE),
    "int8many_fp32": (LOWER["int8"], MANY, [FUSED], MANY),
    "int8images_fp32": (LOWER["int8"], IMAGE_BATCH, [FUSED], IMAGE_BATCH),
    "images_limit": (FUSED, IMAGE_BATCH, LIMITS, BATCHES[IMAGE_BATCH]),
}
"""By name in page.md: the throughput of one contender under a load, compared with the best of others."""
_FIGURES = {
    "memory_one": (f"memory {ONE_INSTANCE} 1", "{:.0f} MiB"),
    "memory_many": (f"memory {ONE_INSTANCE} 64", "{:.0f} MiB"),
    "cold_fused": (f"cold {FUSED}", "{:.2f} s"),
    "cold_reference": (f"cold {REFERENCE}", "{:.1f} s"),
}
_FACTS = ("versions", "weights")


class _Numbers(dict[str, str]):
    """Numbers by their names in page.md; those that were not measured are a dash."""

    def __missing__(self, name: str) -> str:
        return "–"


def page(parts: Mapping[str, Results]) -> str:
    """The text of the page; at least one part was measured."""
    results = joined(parts.values())
    missing = (f"**{name}** did not take part: {reason}.\n\n" for name, reason in results.missing.items())
    facts = {key: ", ".join(f"{name} {value}" for name, value in results.facts[key].items()) for key in _FACTS}
    peers = [f"{name} ({about})" for name, about in results.contenders.items() if name in PEER_NAMES]
    texts = {
        "missing": "".join(missing),
        "throughput": markdown(throughput_table(results)),
        "others": "\n".join(markdown(table) for table in results.tables),
        "runs": markdown(_runs(parts)),
        "peers": ", ".join(peers) or "none",
    }
    machine = {key: str(value) for key, value in results.facts["machine"].items()}
    text = TEMPLATE.read_text(encoding="utf-8")
    return text.format_map(_Numbers(numbers(results) | facts | machine | texts))


def numbers(results: Results) -> dict[str, str]:
    """The ratios, rates and figures of the first sentences and of the six figures, as far as they were measured."""
    rivals = {name: results.best(rivals, load) for name, (_, _, rivals, load) in _RATIOS.items()}
    own = {name: results.rates(form, load) for name, (form, load, _, _) in _RATIOS.items()}
    rivals["one_floor"], own["one_floor"] = floor(results, ONE), results.rates(FUSED, ONE)
    values = {f"cosine_{name}": f"{cosine:.6f}" for name, cosine in results.cosines.items()}
    for name, rates in own.items():
        if rates:
            rate = median(rates.values())
            values[name.partition("_")[0]] = f"{rate:.0f}" if rate >= 100 else f"{rate:.1f}"
        if ratio := ratio_of(rates, rivals[name]):
            values[name] = f"{ratio:.2f}"
    for name, (key, form) in _FIGURES.items():
        if key in results.figures:
            values[name] = form.format(results.figures[key])
    return values


def _runs(parts: Mapping[str, Results]) -> Table:
    rows = []
    for results in parts.values():
        facts = results.facts
        load = f"{facts['machine']['load_average_before']}"
        rows.append([f"`{facts['command']}`", f"{facts['date']:.10}", f"{facts['minutes']:g}", load])
    return Table("Runs", ["command", "date", "minutes", "load average before"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.page", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reports", type=Path, default=REPORTS / "bench", help="where PART.json is (reports/bench)")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page (docs/performance.md)")
    options = parser.parse_args()
    try:
        parts = read_parts(options.reports, ALL_PARTS)
        if not parts:
            raise EnsembleError("the results of the benchmark do not exist", path=options.reports, cure="make bench")
        if options.output == PAGE and (lost := [part for part in ALL_PARTS if part not in parts]):
            message = f"{', '.join(lost)} not measured, so docs/performance.md would lose what it says of them"
            cure = "make bench, or --output FILE for a page of what there is"
            raise EnsembleError(message, path=options.reports, cure=cure)
        write_file(options.output, page(parts))
    except EnsembleError as error:
        sys.exit(f"error: {error}")
    print(options.output)


if __name__ == "__main__":
    main()
