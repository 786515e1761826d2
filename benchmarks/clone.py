"""Clones of an archive against ``tar czf`` in a loop, and against ``cp``, the speed of the disk: time and memory.

    python -m benchmarks.clone [dist/cpu/bert_trt.tar.gz] [--count 8] [--rounds 3]
    python -m benchmarks.clone dist/cpu/digits.tar.gz --variants build/variants/variants.csv

The three sides alternate in one run. The loop gets the renamed tree for free: it packs the same unpacked archive again
and again, with GNU tar and gzip at their defaults. Each side runs in its own process; time is wall time, memory the
largest resident set of any of its processes. Archives are written to a temporary folder beside the given one.

With --variants, the whole command (read, checked, compressed, written) against the least that has to be done (each file
of a variant read, hashed and compressed; as many bytes as its archive has written, by the kernel) and against ``cp -r``
of what it has written; then again with nothing changed, and with one row changed.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from statistics import median

from checkout import DIST, ROOT

_CLONES = """
import sys
from pathlib import Path
from triton_ensembles.archive.clones import clone, clone_names
for _ in clone(Path(sys.argv[1]), clone_names("tenant", int(sys.argv[2])), Path(sys.argv[3])):
    pass
"""

_FLOOR = """
import hashlib, os, sys, zlib
from pathlib import Path
archive, table, output = map(Path, sys.argv[1:])
output.mkdir()
with archive.open("rb") as source:
    size = os.fstat(source.fileno()).st_size
    for folder in sorted(path for path in table.iterdir() if path.is_dir()):
        with (output / f"{folder.name}.tar.gz").open("wb") as file:
            for own in (path for path in folder.rglob("*") if path.is_file()):
                content = own.read_bytes()
                hashlib.sha256(content)
                file.write(zlib.compress(content, 6))
            file.flush()
            os.copy_file_range(source.fileno(), file.fileno(), size - file.tell(), 0)
"""


def compare(archive: Path, count: int, rounds: int) -> str:
    """A line for each side, and how the clones compare with the other two."""
    figures: dict[str, list[tuple[float, float, float]]] = {"clone": [], "tar czf": [], "cp": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
            tree, output = Path(folder) / "tree", Path(folder) / "out"
            output.mkdir()
            with tarfile.open(archive) as tar:
                tar.extractall(tree, filter="data")
            figures["clone"].append(_timed([sys.executable, "-c", _CLONES, str(archive), str(count), str(output)]))
            pack = f"tar -czf {shlex.quote(str(output))}/loop_$i.tar.gz -C {shlex.quote(str(tree))} ."
            copy = f"cp --reflink=never {shlex.quote(str(archive))} {shlex.quote(str(output))}/copy_$i.tar.gz"
            for side, command in (("tar czf", pack), ("cp", copy)):
                figures[side].append(_timed(["bash", "-ec", f"for i in $(seq {count}); do {command}; done"]))
    lines = []
    for side, values in figures.items():
        seconds, memory = ([value[column] for value in values] for column in (0, 1))
        spread = f"{min(seconds):.1f} to {max(seconds):.1f}"
        lines.append(f"{side:8} {count} archives: {median(seconds):.1f} s ({spread}), {median(memory):.0f} MiB")
    for other in ("tar czf", "cp"):
        ratios = [slow[0] / clone[0] for clone, slow in zip(figures["clone"], figures[other], strict=True)]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        lines.append(f"clone is {median(ratios):.2f} times as fast as {other} ({spread})")
    return "\n".join(lines)


def compare_variants(archive: Path, table: Path, rounds: int) -> str:
    """A line for each side, in seconds and bytes a second, and how the variants compare with the copy."""
    figures: dict[str, list[tuple[float, float, float]]] = {
        side: [] for side in ("clone --variants", "floor", "cp -r", "nothing changed", "one changed")
    }
    size = count = 0
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
            folder, output = Path(scratch) / table.parent.name, Path(scratch) / "out"
            shutil.copytree(table.parent, folder)
            command = [sys.executable, "build.py", "clone", str(archive), "--output", str(output), "--quiet"]
            command += ["--variants", str(folder / table.name)]
            copy = ["cp", "-r", "--reflink=never", str(output), f"{output}-copy"]
            floor = [sys.executable, "-c", _FLOOR, str(archive), str(folder), f"{output}-floor"]
            sides = {"clone --variants": command, "floor": floor, "cp -r": copy, "nothing changed": command}
            for side, timed in sides.items():
                figures[side].append(_timed(timed))
            first, second, *_ = (path for path in sorted(folder.rglob("*")) if path.suffix == ".onnx")
            first.write_bytes(second.read_bytes())
            figures["one changed"].append(_timed(command))
            archives = list(output.glob("*.tar.gz"))
            size, count = sum(path.stat().st_size for path in archives), len(archives)
    lines = []
    for side, values in figures.items():
        seconds, memory, processor = ([value[column] for value in values] for column in (0, 1, 2))
        spread = f"{min(seconds):.1f} to {max(seconds):.1f}, of a processor {median(processor):.1f}"
        written = f", {size / 1e6 / median(seconds):.0f} MB/s" if "changed" not in side else ""
        lines.append(
            f"{side:16} {count} archives: {median(seconds):.1f} s ({spread}){written}, {median(memory):.0f} MiB"
        )
    for other in ("floor", "cp -r"):
        pairs = list(zip(figures["clone --variants"], figures[other], strict=True))
        wall, cores = (median(clone[column] / least[column] for clone, least in pairs) for column in (0, 2))
        lines.append(f"clone takes {wall:.1f} times as long as {other}, and {cores:.1f} times the processor")
    return "\n".join(lines)


def _timed(command: list[str]) -> tuple[float, float, float]:
    """Seconds, MiB of the largest process, and seconds of a processor. Raises CalledProcessError."""
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - began, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path, nargs="?", default=DIST / "cpu" / "bert_trt.tar.gz")
    parser.add_argument("--count", type=int, default=8, help="archives in a round (8)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each side is measured (3)")
    parser.add_argument("--variants", type=Path, help="a table, in a folder with its files")
    arguments = parser.parse_args()
    if arguments.variants:
        print(compare_variants(arguments.archive.resolve(), arguments.variants.resolve(), arguments.rounds))
    else:
        print(compare(arguments.archive.resolve(), arguments.count, arguments.rounds))


if __name__ == "__main__":
    main()
