"""A real Chromium without a window, driven through its DevTools protocol."""

import asyncio
import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import aiohttp
import pytest

from checkout import ROOT
from triton_ensembles.ground.files import locked
from triton_ensembles.ground.programs import ProgramError, output_of

_LISTENING = re.compile(rb"DevTools listening on (?P<url>ws://\S+)")


def chromium() -> tuple[Path, dict[str, str]]:
    """The machine's, or Debian's in .browser/ (100 MB, fetched the first time), and the environment that it needs.

    Raises:
        ProgramError: there is none here, and Debian's packages cannot be fetched.
    """
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found:
        return Path(found), dict(os.environ)
    folder = unpacked(ROOT / ".browser" / "chromium", "chromium", "fonts-dejavu-core")
    libraries = {str(library.parent) for library in folder.glob("usr/lib/*-linux-gnu/**/*.so*")}
    environment = os.environ | {
        "LD_LIBRARY_PATH": ":".join(sorted(libraries)),
        "XDG_DATA_HOME": str(folder / "usr" / "share"),  # fonts
    }
    program = folder / "usr" / "lib" / "chromium" / "chromium"
    output_of([program, "--version"], environment=environment)
    return program, environment


def unpacked(folder: Path, *packages: str) -> Path:
    """``folder`` with Debian's packages and those they depend on that this machine lacks: nothing is installed.

    The lists of packages are fetched for it: an image's own are removed or old.
    """
    with locked(folder.with_name(f"{folder.name}.lock")):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}-") as scratch:
                _unpack(Path(scratch), packages).rename(folder)
    return folder


def _unpack(scratch: Path, packages: tuple[str, ...]) -> Path:
    for needed in ("lists/partial", "cache/archives/partial", "packages", "root"):
        (scratch / needed).mkdir(parents=True)
    apt = ["apt-get", "--quiet", "-o", f"Dir::State::lists={scratch}/lists", "-o", f"Dir::Cache={scratch}/cache"]
    output_of([*apt, "update"])
    plan = output_of([*apt, "install", "--simulate", "--no-install-recommends", *packages])
    missing = re.findall(r"^Inst (\S+)", plan, re.MULTILINE)
    output_of([*apt, "download", *sorted({*packages, *missing})], cwd=scratch / "packages")
    for package in (scratch / "packages").iterdir():
        output_of(["dpkg-deb", "--extract", package, scratch / "root"])
    return scratch / "root"


class _NavigatedError(Exception):
    """The page has gone while it was asked."""


class Browser:
    """One tab, as a context manager."""

    def __init__(self, width: int = 1400, height: int = 900) -> None:
        self._size = (width, height)
        self._loop = asyncio.new_event_loop()
        self._numbers = itertools.count(1)
        self._tab = ""

    def __enter__(self) -> Self:
        program, environment = chromium()
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        options = ["headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"]
        options += ["no-first-run", "remote-debugging-port=0", f"user-data-dir={self._profile.name}"]
        options += ["window-size={},{}".format(*self._size)]
        self._process = subprocess.Popen(
            [program, *(f"--{option}" for option in options), "about:blank"],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=environment,
        )
        assert self._process.stderr is not None
        try:
            found = next(filter(None, map(_LISTENING.match, self._process.stderr)))
            self._loop.run_until_complete(self._connect(found["url"].decode()))
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._session.close())
        self._loop.close()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(120)
        assert self._process.stderr is not None
        self._process.stderr.close()
        self._profile.cleanup()

    def open(self, url: str) -> None:
        self._call("Page.navigate", url=url)
        self.wait("document.readyState == 'complete' && location.href != 'about:blank'")

    def evaluate(self, expression: str) -> Any:
        """The value of JavaScript on the page."""
        found = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, expression: str, seconds: float = 120) -> Any:
        """Until JavaScript is true. A page that gives way to the next one, as after a click, is not yet that."""
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(_NavigatedError):
                if value := self.evaluate(expression):
                    return value
            assert time.monotonic() < deadline, f"never true: {expression}"
            time.sleep(0.1)

    def text(self) -> str:
        return str(self.evaluate("document.body.innerText"))

    def type(self, text: str) -> None:
        """Over what stands in the field that has the focus."""
        self.evaluate("document.activeElement.select()")
        self._call("Input.insertText", text=text)

    def resize(self, width: int, height: int = 900) -> None:
        """The tab, in CSS pixels: a window cannot be as narrow as a phone."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def _call(self, method: str, **parameters: Any) -> Any:
        return self._loop.run_until_complete(self._ask(method, parameters, self._tab))

    async def _connect(self, url: str) -> None:
        self._session = aiohttp.ClientSession()
        self._socket = await self._session.ws_connect(url, max_msg_size=0)
        target = (await self._ask("Target.createTarget", {"url": "about:blank"}))["targetId"]
        attached = await self._ask("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._tab = attached["sessionId"]

    async def _ask(self, method: str, parameters: dict[str, Any], session: str = "") -> Any:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        await self._socket.send_json(message)
        async for reply in self._socket:
            found = json.loads(reply.data)
            if found.get("id") == number:
                if found.get("error", {}).get("message") == "Inspected target navigated or closed":
                    raise _NavigatedError
                assert "error" not in found, found["error"]
                return found["result"]
        raise AssertionError("Chromium has gone")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        chromium()
    except ProgramError as error:
        reason = f"NO CHROMIUM: the status page is NOT TESTED. Install it: apt-get install chromium ({error.reason})"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    with Browser() as browser:
        yield browser
