"""A page of another origin in a real Chromium, which sends what no program here would have made up."""

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Browser
from tests.repositories import write_chain
from tests.running import serving
from tests.web_pages.attacks import attacks, ports_of
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.server.triton_server import TritonServer

pytestmark = pytest.mark.slow

# Without CORS the page sees no answer, only that there was one: no-cors, then a request that may be read.
_SCRIPT = """
async (requests) => {
  const said = [];
  for (const { url, method, body } of requests)
    for (const mode of ["no-cors", "cors"])
      try {
        const answer = await fetch(url, { mode, method, body: method === "GET" ? undefined : body });
        said.push([url, mode, answer.status, await answer.text()]);
      } catch (error) { said.push([url, mode, -1, ""]); }
  return said;
}
"""
_EXPLICIT = ["--model-control-mode=explicit", "--load-model=six"]


@contextmanager
def page(folder: Path) -> Iterator[str]:
    """The URL of an empty page; its origin is not that of a server, for it has another port."""
    (folder / "index.html").write_text("<!doctype html><title>evil</title>")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://localhost:{server.server_port}/"
        finally:
            server.shutdown()


def tried(browser: Browser, url: str, port: int, folder: Path) -> list[tuple[str, str, int, str]]:
    """The answers of a port to all attacks, as the page at ``url`` sees them."""
    found = attacks(folder / "marker", folder / "evil", ["six"])
    wanted = {(attack.method, attack.path): attack.body.decode() for attack in found if attack.method != "OPTIONS"}
    requests = [
        {"url": f"http://127.0.0.1:{port}{path}", "method": method, "body": body}
        for (method, path), body in wanted.items()
    ]
    browser.open(url)
    browser.evaluate(f"({_SCRIPT})({json.dumps(requests)}).then(said => {{ window.said = said }}), 0")
    said: list[Any] = browser.wait("window.said")
    return [(url, mode, status, text) for url, mode, status, text in said]


def test_a_page_in_a_browser_runs_code_in_a_bare_tritonserver_and_not_in_ours(browser: Browser, tmp_path: Path) -> None:
    """The first server shows that the attack is one."""
    marker, repository = tmp_path / "marker", write_chain(tmp_path / "models")
    bare = TritonServer([repository], arguments=_EXPLICIT)
    flags = tuple(flag for flag in bare.command.arguments if "-restricted-" not in flag)
    bare.command = replace(bare.command, arguments=flags)
    with page(tmp_path) as url:
        with serving(bare):
            tried(browser, url, bare.ports.http, tmp_path)
            assert marker.exists()
        marker.unlink()
        with serving(TritonServer([repository], arguments=_EXPLICIT)) as ours:
            said = tried(browser, url, ours.ports.http, tmp_path)
            assert said and {text for *_, text in said} == {""}
            assert not marker.exists()


def test_a_page_in_a_browser_stores_nothing_in_the_endpoint_and_reads_nothing(browser: Browser, tmp_path: Path) -> None:
    """An archive that it stored would run at the next request; S3's own port is behind the other."""
    with page(tmp_path) as url, LocalEndpoint(tmp_path / "endpoint") as local:
        ports = ports_of(local.pid)
        assert len(ports) == 2
        for port in ports:
            said = tried(browser, url, port, tmp_path)
            assert said and {text for *_, text in said} == {""}
        assert local.client("s3").list_buckets()["Buckets"] == []
