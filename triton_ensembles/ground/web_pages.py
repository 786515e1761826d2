"""Decides what a web browser may do at a port of ours: a page from elsewhere may do nothing.

Whoever may create a model runs code, and a browser sends requests to loopback for any page that it shows. Three headers
give them away, none of which a page can change and none of which curl, boto3, tritonclient or perf_analyzer sends:

- ``Origin`` comes with every request that is not a GET or HEAD, and with every one whose answer a script may read
  (Fetch standard, 3.2).
- ``Host`` has the page's own name when that name resolves to this machine (DNS rebinding). The page is then of the
  same origin as the server, so that only the name tells.
- ``Sec-Fetch-Site`` says so of the rest, such as images, scripts, frames and links. Browsers send it to loopback
  addresses (Fetch Metadata; to a rebound name they do not).
"""

import re
from collections.abc import Mapping

_LOCAL = re.compile(r"(127(\.\d{1,3}){3}|localhost|\[::1\]|[a-z0-9.-]+\.localhost)(:\d+)?", re.IGNORECASE)
_OURS = (None, "none", "same-origin")  # none: typed into the address bar, or a bookmark

INERT: Mapping[str, str] = {
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
"""Headers of answers other than our own pages. A browser that shows such an answer runs no script in it, loads nothing
for it, and gives it no origin, so an uploaded file cannot act as part of this program."""

REFUSAL = "This server only answers programs and pages of this machine, which call it 127.0.0.1 or localhost.\n"


def is_local(host: str) -> bool:
    """Return whether a ``Host`` header names this machine, which no name of a foreign page does."""
    return _LOCAL.fullmatch(host) is not None


def is_foreign(method: str, headers: Mapping[str, str], *, links: bool = False) -> bool:
    """Return whether a browser sends this request for a foreign page, to a server on loopback that has pages of its
    own.

    Args:
        headers: of the request; their names are looked up as written here, so the mapping ignores case.
        links: whether a link from a foreign page may be followed to what is asked for, in a window or tab of its own.
    """
    host = headers.get("Host", "")
    if not is_local(host) or headers.get("Origin") not in (None, f"http://{host}"):
        return True
    if headers.get("Sec-Fetch-Site") in _OURS:
        return False
    in_a_tab = headers.get("Sec-Fetch-Dest", "document") == "document"  # and not in a frame of the page
    followed = headers.get("Sec-Fetch-Mode") == "navigate" and in_a_tab
    return not (links and method == "GET" and followed)


def why_refused(headers: Mapping[str, str], *, on_loopback: bool) -> str:
    """The sentence for a request that a browser sends, to a server without pages; "" for any other request.

    Args:
        on_loopback: whether programs of this machine are its only clients, so that a Host of another name is a page's.
    """
    host = headers.get("Host", "")
    if on_loopback and host and not is_local(host):
        return f"{host[:100]!r} is not this machine: call it as 127.0.0.1 or localhost"
    if is_of_a_page(headers):
        return "web pages are not answered: call it from a program, or through one of your own"
    return ""


def is_of_a_page(headers: Mapping[str, str]) -> bool:
    """Return whether a browser sends this request for any page, to a server that has none and may have any name."""
    return "Origin" in headers or headers.get("Sec-Fetch-Site") not in (None, "none")
