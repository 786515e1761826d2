"""Run the tests that need a GPU, and write docs/gpu-proof.md: make gpu-proof"""

import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pytest

from checkout import ROOT
from triton_ensembles.artifacts.tensorrt.plan_builders import find_gpu
from triton_ensembles.ground.files import write_file
from triton_ensembles.triton.pip_server import VERSION

REPORT = ROOT / "docs" / "gpu-proof.md"


class Proof:
    """A plugin of pytest that keeps a row per test: its name in words, the result, and what it recorded."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        result = {"passed": "passed", "failed": "**FAILED**", "skipped": "not possible here"}[report.outcome]
        seen = dict(report.user_properties).get("seen", "")
        if report.skipped and isinstance(report.longrepr, tuple):
            seen = report.longrepr[2].removeprefix("Skipped: ")
        name = report.nodeid.rpartition("::")[2].partition("[")[0].removeprefix("test_").replace("_", " ")
        self.rows.append((name, result, str(seen)))


def page(machine: str, rows: list[tuple[str, str, str]]) -> str:
    tools = ", ".join(f"{tool} {version(tool)}" for tool in ("nvidia-dali-cuda130", "torch", "onnxruntime"))
    written = (
        f"Written by `make gpu-proof` on {datetime.now(UTC):%Y-%m-%d}, {machine}, tritonserver {VERSION}, {tools}."
    )
    table = "".join(f"| {' | '.join(row)} |\n" for row in [("what", "result", "seen"), ("---",) * 3, *rows])
    return f"# Proven on a GPU\n\n{written}\n\n{table}"


def main(report: Path = REPORT) -> int:
    found = find_gpu()
    if found is None:
        print("this machine has no NVIDIA GPU (nvidia-smi finds none), so nothing can be proven", file=sys.stderr)
        return 1
    proof = Proof()
    code = pytest.main([str(Path(__file__).parent), "-m", "gpu", "-q"], plugins=[proof])
    write_file(report, page(f"{found.name} (compute capability {found.compute_capability})", proof.rows))
    print(report.read_text())
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
