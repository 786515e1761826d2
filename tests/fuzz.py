"""``make fuzz``: new examples for all property tests, round after round, for as long as it is told.

What fails is printed as an ``@example`` to paste above the test, and kept in reports/fuzz.txt; hypothesis tries it
again first in the next round (.hypothesis/). The round that has begun when the time is over is finished.
"""

import argparse
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "reports" / "fuzz.txt"
# As pytest shows it, with a margin: "E", or "|" in a group of exceptions, and the indentation of the source.
_FAILED = re.compile(
    r"^([E| ]*)(?:Failing test case|Falsifying example): (\w+)\(\n((?:\1 {4}.*\n)+)\1\)$", re.MULTILINE
)
_NO_TESTS = 5  # pytest's exit code


def failed_examples(report: str) -> list[str]:
    """The failing examples of a report of pytest, each as the name of its test and an ``@example``."""
    examples = []
    for margin, name, arguments in _FAILED.findall(report):
        lines = re.sub(f"^{re.escape(margin)}", "", arguments, flags=re.MULTILINE)
        examples.append(f"# {name}\n@example(\n{lines})")
    return list(dict.fromkeys(examples))


def fuzz(seconds: float, paths: Sequence[Path], workers: int) -> list[str]:
    """Run the property tests in ``paths`` until ``seconds`` are over; what failed."""
    end = time.monotonic() + seconds
    failed: list[str] = []
    rounds = 0
    while not rounds or time.monotonic() < end:
        rounds += 1
        seed = secrets.randbelow(2**32)
        print(f"round {rounds}, seed {seed}", flush=True)
        done = _round(seed, paths, workers)
        if done.returncode not in (0, _NO_TESTS):
            new = [example for example in failed_examples(done.stdout) if example not in failed]
            KEPT.parent.mkdir(exist_ok=True)
            with KEPT.open("a") as file:
                file.write("\n".join([f"# seed {seed}", *new, done.stdout, done.stderr]))
            print("\n".join(new) or f"failed as before, or without an example: see {KEPT}", flush=True)
            failed += new or [f"seed {seed}"]
    return failed


def _round(seed: int, paths: Sequence[Path], workers: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.drawing", "-m", "hypothesis"]
    command += ["--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}", "-n", str(workers), "--dist", "loadfile"]
    return subprocess.run([*command, *map(str, paths)], cwd=ROOT, capture_output=True, text=True)


def _property_tests() -> list[Path]:
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    return [path for path in tests if re.search("^(from|import) hypothesis", path.read_text(), re.MULTILINE)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600, help="how long to draw (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("paths", nargs="*", type=Path, help="files of tests (default: all with property tests)")
    options = parser.parse_args()
    failed = fuzz(options.seconds, options.paths or _property_tests(), options.workers)
    print(f"{len(failed)} failed" if failed else "nothing failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
