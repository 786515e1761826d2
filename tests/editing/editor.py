"""An editor for the tests: pygls' own language client, with the real command over standard input and output."""

import asyncio
import os
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from checkout import ROOT

_SECONDS = 120  # on a machine on which much else runs


class Editor:
    """``faults`` has the latest diagnostics of each file, and ``logged`` what the server had to say otherwise."""

    def __init__(self, client: LanguageClient) -> None:
        self.client, self.faults, self.logged = client, defaultdict[Path, list[lsp.Diagnostic]](list), list[str]()
        self._versions = defaultdict[Path, int](int)
        self._news = asyncio.Event()

        @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: lsp.PublishDiagnosticsParams) -> None:
            self.faults[Path(params.uri.removeprefix("file://"))] = list(params.diagnostics)
            self._news.set()

        @client.feature(lsp.WINDOW_LOG_MESSAGE)
        def logged(params: lsp.LogMessageParams) -> None:
            self.logged.append(params.message)

        @client.feature(lsp.WINDOW_SHOW_MESSAGE)
        def shown(params: lsp.ShowMessageParams) -> None:
            self.logged.append(params.message)

    def open(self, path: Path, text: str | None = None) -> None:
        document = lsp.TextDocumentItem(path.as_uri(), "pbtxt", 0, path.read_text() if text is None else text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(document))

    def write(self, path: Path, text: str) -> None:
        """Make ``text`` the whole text of an open file, without saving it."""
        self._versions[path] += 1
        document = lsp.VersionedTextDocumentIdentifier(self._versions[path], path.as_uri())
        changes = [lsp.TextDocumentContentChangeWholeDocument(text)]
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, changes))

    def close(self, path: Path) -> None:
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(path.as_uri())))

    def written(self, *paths: Path) -> None:
        events = [lsp.FileEvent(path.as_uri(), lsp.FileChangeType.Changed) for path in paths]
        self.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams(events))

    async def until(self, holds: Callable[[], Any]) -> None:
        """Wait for diagnostics until ``holds`` does."""
        async with asyncio.timeout(_SECONDS):
            while not holds():
                self._news.clear()
                await self._news.wait()

    def rules(self, path: Path) -> list[str]:
        return [str(fault.code) for fault in self.faults[path]]

    async def ask(
        self, request: Callable[[Any], Any], kind: type[Any], path: Path, at: lsp.Position, **more: Any
    ) -> Any:
        return await request(kind(lsp.TextDocumentIdentifier(path.as_uri()), at, **more))


@asynccontextmanager
async def editor(folder: Path, encodings: list[str] | None = None) -> AsyncIterator[Editor]:
    """An editor in ``folder``, whose server has ended by itself at the end of the block."""
    client = LanguageClient("tests", "1")
    here = Editor(client)
    paths = os.pathsep.join([str(ROOT), *sys.path])
    environment = os.environ | {"PYTHONPATH": paths}
    await client.start_io(sys.executable, "-m", "triton_ensembles", "lsp", cwd=folder, env=environment)
    general = lsp.GeneralClientCapabilities(position_encodings=encodings) if encodings else None
    capabilities = lsp.ClientCapabilities(general=general)
    await client.initialize_async(lsp.InitializeParams(capabilities, root_uri=folder.as_uri()))
    client.initialized(lsp.InitializedParams())
    yield here
    async with asyncio.timeout(_SECONDS):
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()


def place_of(text: str, words: str, inside: int = 0) -> lsp.Position:
    """The position of ``words`` in ``text``, in UTF-16, and ``inside`` letters into them."""
    before = text[: text.index(words) + inside]
    last = before.rpartition("\n")[2]
    return lsp.Position(before.count("\n"), len(last.encode("utf-16-le")) // 2)
