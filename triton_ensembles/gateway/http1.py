"""HTTP/1.1 by uvicorn, with an answer for clients that offer another protocol.

``curl --http2`` and the HTTP client of Java add ``Upgrade: h2c`` to a request. A server may ignore the offer (RFC 9110,
7.8); the parser under uvicorn ends the request at its headers instead, without its body.
"""

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_OF_BODIES = (b"content-length", b"transfer-encoding")


class Http1(HttpToolsProtocol):
    """uvicorn's side of a connection, which reads on where its parser stops at an offer."""

    _repeating = False  # the parser is told again what the body's end is known by

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                self._read_on(data[offer.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")

    def _read_on(self, rest: bytes) -> None:
        """Have another parser read the body of the present request."""
        ends = [header for header in self.headers if header[0] in _OF_BODIES] or [(b"content-length", b"0")]
        self.parser = httptools.HttpRequestParser(self)
        self._repeating = True
        self.parser.feed_data(b"POST / HTTP/1.1\r\n" + b"".join(b"%b: %b\r\n" % header for header in ends) + b"\r\n")
        self._repeating = False
        if rest:
            self.data_received(rest)

    def on_message_begin(self) -> None:
        if not self._repeating:
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._repeating:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._repeating:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if not self._repeating:
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        if not self.parser.should_upgrade():  # else there is more to read
            super().on_message_complete()
