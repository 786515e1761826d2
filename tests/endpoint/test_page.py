"""The status page in a real Chromium: what it shows, and that it updates by itself."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Browser
from tests.endpoint.conftest import Deployer, ask
from tests.hosting import archives
from triton_ensembles.endpoint.local import LocalEndpoint

pytestmark = pytest.mark.slow


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


def test_a_server_that_stops_is_noticed(browser: Browser, tmp_path: Path) -> None:
    with LocalEndpoint(tmp_path) as local:
        browser.open(local.url)
        browser.wait("document.getElementById('connection')?.textContent == 'live'")
        assert "There is no endpoint yet" in browser.text()
    browser.wait("document.getElementById('connection').className == 'lost'")
