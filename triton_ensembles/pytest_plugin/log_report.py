"""Lines that servers wrote into their logs while a test ran, in pytest's report of a test that failed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TITLE = "tritonserver log"
_MOST = 100_000  # bytes shown of one log
_LOGS = pytest.StashKey["Logs"]()


class Logs:
    """The logs of all servers, and how large each was when the present test began."""

    def __init__(self) -> None:
        self._watched: list[tuple[Path, str]] = []
        self._sizes: dict[Path, int] = {}

    def watch(self, folder: Path, pattern: str) -> None:
        """From now on, take every file in ``folder`` that matches for the log of a server."""
        self._watched.append((folder, pattern))

    def begin(self) -> None:
        self._sizes = {path: path.stat().st_size for path in self._files()}

    def written(self) -> str:
        """New lines since ``begin``, under the path of each log; "" if nothing is."""
        parts = []
        for path in self._files():
            start = self._sizes.get(path, 0)
            new = path.stat().st_size - start
            if new > 0:
                cut = f" (the last {_MOST} of {new} bytes)" if new > _MOST else ""
                with path.open("rb") as file:
                    file.seek(max(start, file.seek(0, 2) - _MOST))
                    parts.append(f"{path}{cut}\n{file.read().decode(errors='replace')}")
        return "\n".join(parts)

    def _files(self) -> list[Path]:
        return sorted(path for folder, pattern in self._watched for path in folder.glob(pattern))


def logs_of(config: pytest.Config) -> Logs:
    return config.stash.setdefault(_LOGS, Logs())


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    logs_of(item.config).begin()
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    if report.failed:
        logs = logs_of(item.config)
        if text := logs.written():
            report.sections.append((TITLE, text))
        logs.begin()  # a failure of the teardown shows what came after that of the call
