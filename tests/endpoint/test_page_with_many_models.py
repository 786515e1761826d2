"""The status page in a real Chromium, with a hundred models of which most wait until others are loaded."""

import contextlib
import os
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.browser import Browser
from tests.endpoint.conftest import BUCKET, Deployer
from tests.hosting import archives
from triton_ensembles.endpoint.local import LocalEndpoint

WAITING = 100 + 2 * (os.cpu_count() or 1)  # for as many loads at a time, and a hundred behind them
Ask = Callable[[str], HTTPConnection]
LONG = "a-long-name-without-a-place-to-break-it-" * 4
ROWS = "[...document.querySelectorAll('.models tbody tr')].map(row => row.dataset.model)"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEndpoint]:
    """One of its own: on the page of the shared one, other endpoints may come first."""
    with LocalEndpoint(tmp_path_factory.mktemp("many")) as local:
        local.client("s3").create_bucket(Bucket=BUCKET)
        yield local


@pytest.fixture(scope="module")
def many(local: LocalEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """b-busy and z-idle are loaded, and z-idle was asked twice. Nothing else gets through the gate. Eight errors.

    It gives a function that sends a request without waiting for the answer.
    """
    gate = archives.Gate(tmp_path_factory.mktemp("gate"))
    deployer = Deployer(local)
    quick, slow = archives.packed(archives.model("quick")), archives.packed(archives.model("slow", gate.wait))
    waiting = {f"q{number:03}-{LONG}.tar.gz": slow for number in range(WAITING)}
    for name, archive in {"b-busy.tar.gz": quick, "z-idle.tar.gz": quick, **waiting}.items():
        deployer.put(f"many/{name}", archive)
    deployer.multi_model("many", f"s3://{BUCKET}/many/")
    with contextlib.ExitStack() as clients:

        def ask(name: str) -> HTTPConnection:
            client = clients.enter_context(contextlib.closing(HTTPConnection(local.url.removeprefix("http://"))))
            headers = {"X-Amzn-SageMaker-Target-Model": name}
            client.request("POST", "/endpoints/many/invocations", archives.body(1), headers)
            return client

        for name in ("b-busy.tar.gz", "z-idle.tar.gz", "z-idle.tar.gz", *(f"missing-{number}" for number in range(8))):
            ask(name).getresponse().read()
        for name in waiting:
            ask(name)
        yield ask


def total(name: str) -> str:
    return f"Number(document.querySelector('.totals .{name} dd')?.innerText)"


@pytest.fixture
def page(many: Ask, browser: Browser, local: LocalEndpoint) -> Callable[..., None]:
    """``page()``: open it, live, once everything waits for what is loading."""

    def page() -> None:
        browser.resize(1400)
        browser.open(local.url)
        browser.wait("document.getElementById('connection')?.textContent == 'live'")
        browser.wait(f"{total('loading')} && {total('loading')} + {total('queued')} == {WAITING}")

    return page


def test_equal_errors_are_one_line(page: Any, browser: Browser, many: Ask, local: LocalEndpoint) -> None:
    page()
    of_missing = "[...document.querySelectorAll('.errors > *')].filter(error => error.innerText.includes('missing-'))"
    assert browser.evaluate(f"{of_missing}.length") == 1
    assert "8 times missing-7 Failed to download model data" in browser.evaluate(f"{of_missing}[0].innerText")
    browser.evaluate(f"{of_missing}[0].querySelector('summary').click()")
    names = ", ".join(f"missing-{number}" for number in reversed(range(7)))
    assert names in browser.evaluate(f"{of_missing}[0].innerText")
    # Another error comes first then, and what was unfolded stays so.
    local.client("s3").put_object(Bucket=BUCKET, Key="many/text.tar.gz", Body=b"no archive")
    many("text.tar.gz")
    browser.wait("document.querySelector('.errors').innerText.includes('text.tar.gz')")
    errors = browser.evaluate("document.querySelector('.errors').innerText")
    assert 0 <= errors.index("text.tar.gz") < errors.index(names)


def test_folds_and_focus_stay_while_the_page_updates(page: Any, browser: Browser, many: Ask) -> None:
    page()
    browser.evaluate("document.querySelector('.timed').open = false; document.querySelector('.fold a').focus()")
    for _ in range(5):
        many("b-busy.tar.gz")
    browser.wait("document.querySelector('[data-model=\"b-busy.tar.gz\"]').cells[4].innerText == '5'")
    assert browser.evaluate(ROWS)[0] == "b-busy.tar.gz"
    assert browser.evaluate("document.querySelector('.timed').open") is False
    assert "more" in browser.evaluate("document.activeElement.innerText")


@pytest.mark.parametrize("width", [360, 900, 1300])
def test_everything_can_be_read_on_a_phone_a_tablet_and_a_laptop(page: Any, browser: Browser, width: int) -> None:
    page()
    browser.resize(width)
    cut_off = """[...document.querySelectorAll('body *')].filter(it => it.checkVisibility()).filter(it => {
        const {left, right} = it.getBoundingClientRect();
        return left < 0 || right > innerWidth || (it.scrollWidth > it.clientWidth + 1 && it.clientWidth);
    }).map(it => it.outerHTML.slice(0, 200))"""
    assert browser.evaluate(cut_off) == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
