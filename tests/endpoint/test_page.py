"""The status page in a real Chromium: what it shows, and that it updates by itself."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.endpoint.browser import Browser
from tests.endpoint.conftest import Deployer, ask
from tests.hosting import archives
from triton_ensembles.endpoint.local import LocalEndpoint

pytestmark = pytest.mark.slow


def test_the_page_is_whole_without_a_script(local: LocalEndpoint, shared: str) -> None:
    reply = requests.get(local.url, timeout=300)
    assert reply.headers["Content-Type"].startswith("text/html")
    assert "script-src 'self'" in reply.headers["Content-Security-Policy"]
    assert shared in reply.text and "InService" in reply.text


def test_models_appear_and_disappear(
    browser: Browser, deployer: Deployer, local: LocalEndpoint, runtime: Any, tmp_path: Path
) -> None:
    gate = archives.Gate(tmp_path)
    browser.open(local.url)
    browser.wait("document.getElementById('connection')?.textContent == 'live'")
    browser.evaluate("window.mark = 1")  # a reload would remove it
    deployer.put("seen/one.tar.gz", archives.model("one", execute=gate.wait))
    deployer.multi_model("seen", MultiModelConfig={"ModelCacheSetting": "Disabled"})
    card = "document.querySelector('[data-endpoint=seen]')"
    browser.wait(f"{card} && {card}.innerText.includes('InService')")
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(ask, runtime, "seen", "seen/one.tar.gz", 1)
        browser.wait(f"{card}.innerText.includes('seen/one.tar.gz')")
        gate.open()
        assert answer.result() == [1]
    # With ModelCacheSetting Disabled it is unloaded as soon as it has answered.
    browser.wait("document.querySelectorAll('.events .model-unloaded').length > 0")
    assert browser.evaluate("window.mark") == 1
    assert "ModelCacheSetting Disabled" in browser.text()


def test_loads_hits_and_latencies(browser: Browser, deployer: Deployer, local: LocalEndpoint, runtime: Any) -> None:
    deployer.put("shown/one.tar.gz", archives.ensemble("both", "one") | archives.model("one"))
    deployer.multi_model("shown")
    for _ in range(5):
        ask(runtime, "shown", "shown/one.tar.gz", 1)
    browser.open(local.url)
    row = "document.querySelector('[data-endpoint=shown] [data-model=\"shown/one.tar.gz\"]')"
    browser.wait(f"{row} && {row}.innerText.includes('loaded')")
    assert browser.evaluate(f"{row}.cells[4].innerText") == "4"  # hits
    assert browser.evaluate(f"{row}.cells[5].innerText") == "1"  # misses
    assert "download" in browser.evaluate(f"{row}.innerText")
    shown = "document.querySelector('[data-endpoint=shown] .latencies').innerText"
    latencies = browser.evaluate(shown)
    assert "platform" in latencies
    assert "container" in latencies
    browser.wait(f"{shown}.split(/\\s+/).includes('one')")  # a step: Triton's own times, a moment later


def test_errors_are_shown_with_their_fix_and_markup_in_them_does_not_run(
    browser: Browser, deployer: Deployer, local: LocalEndpoint, runtime: Any
) -> None:
    deployer.put("evil.tar.gz", archives.model("evil", "raise ValueError('<img src=x onerror=window.owned=1>')"))
    deployer.multi_model("failing")
    for target in ("no-such.tar.gz", "evil.tar.gz"):
        with pytest.raises(runtime.exceptions.ClientError):
            ask(runtime, "failing", target, 1)
    browser.open(local.url)
    errors = "document.querySelector('[data-endpoint=failing] .errors')"
    browser.wait(f"{errors}?.innerText.includes('no-such.tar.gz')")
    assert "upload the archive" in browser.evaluate(f"{errors}.innerText")
    assert "<img src=x" in browser.evaluate(f"{errors}.innerText")
    assert browser.evaluate("window.owned") is None


def test_a_server_that_stops_is_noticed(browser: Browser, tmp_path: Path) -> None:
    with LocalEndpoint(tmp_path) as local:
        browser.open(local.url)
        browser.wait("document.getElementById('connection')?.textContent == 'live'")
        assert "There is no endpoint yet" in browser.text()
    browser.wait("document.getElementById('connection').className == 'lost'")
