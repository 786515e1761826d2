"""The language server: what editors send and get, over :mod:`pygls`."""

import asyncio
import contextlib
import logging
import sys
from pathlib import Path
from threading import Event

from lsprotocol import types as lsp
from pygls import uris
from pygls.io_ import StdoutWriter, run_async
from pygls.lsp.server import LanguageServer

from triton_ensembles.checking.fault import Fault, Severity
from triton_ensembles.checking.repository import Model
from triton_ensembles.editing.cursor import Cursor, cursor_at
from triton_ensembles.editing.desk import Desk
from triton_ensembles.editing.edited import EditedRepository
from triton_ensembles.editing.positions import Positions
from triton_ensembles.triton.model_config import CONFIG
from triton_ensembles.version import __version__

_PAUSE = 0.05  # seconds without a letter, after which is checked
_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.NOTE: lsp.DiagnosticSeverity.Information,
}
NAME = "triton-ensembles"


class Server(LanguageServer):
    """Checks what is open a moment after the last letter, and answers about it."""

    def __init__(self) -> None:
        # Whole texts: where a change lies would be counted in lines, and pygls has more kinds of them than editors.
        super().__init__(NAME, __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
        self.desk = Desk(self._texts)
        self._shown: dict[Path, set[str]] = {}  # the files of each repository whose faults the editor has
        self._timer: asyncio.TimerHandle | None = None

    def serve(self) -> None:
        """Answer over standard input and output until either ends, or a signal comes."""
        with contextlib.suppress(BrokenPipeError, asyncio.IncompleteReadError):
            asyncio.run(self._serve())

    async def _serve(self) -> None:
        # Not start_io: it reads in a thread, and a process waits for its threads at its end.
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        self.protocol.set_writer(StdoutWriter(sys.stdout.buffer))
        await run_async(Event(), reader, self.protocol, error_handler=self.report_server_error)

    def _texts(self) -> dict[Path, str]:
        documents = self.workspace.text_documents
        return {Path(path): documents[uri].source for uri in documents if (path := uris.to_fs_path(uri))}

    def write(self, uri: str) -> None:
        """Note that a file may not be what it was, and check soon."""
        if path := uris.to_fs_path(uri):
            self.desk.write(Path(path))
            self.check_soon()

    def check_soon(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(_PAUSE, self.check)

    def check(self) -> None:
        """Check what has changed, and send the faults of each file that has some or had some."""
        try:
            for edited, by_file in self.desk.checked():
                for path in sorted({*by_file, *self._shown.get(edited.path, ())}):
                    positions = self.positions(edited, path)
                    diagnostics = [_diagnostic(fault, positions) for fault in by_file.get(path, [])]
                    self.text_document_publish_diagnostics(
                        lsp.PublishDiagnosticsParams(uri_of(edited.path / path), diagnostics)
                    )
                self._shown[edited.path] = set(by_file)
        except Exception as error:  # the next letter may be right again
            logging.getLogger(__name__).exception("the check failed")
            self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, f"the check failed: {error}"))

    def positions(self, edited: EditedRepository, path: str) -> Positions:
        return Positions(edited.text_of(path), self.workspace.position_codec)

    def faults_at(self, edited: EditedRepository, path: str, wanted: lsp.Range) -> list[tuple[Fault, lsp.Diagnostic]]:
        """Return the faults of a file that a range touches, as they are shown there."""
        positions, found = self.positions(edited, path), []
        for fault in edited.faults:
            if edited.file_of(fault.place) == path:
                shown = _diagnostic(fault, positions)
                if shown.range.start <= wanted.end and wanted.start <= shown.range.end:
                    found.append((fault, shown))
        return found

    def find(self, uri: str) -> tuple[EditedRepository, str] | None:
        """Return the repository of an open file, checked with the latest letters, and the file's path there."""
        path = uris.to_fs_path(uri)
        self.check()
        return self.desk.find(Path(path)) if path else None

    def cursor(self, edited: EditedRepository, path: str, position: lsp.Position) -> tuple[Model, Cursor] | None:
        """Return the model whose config the file is, and what a position in it is about; None for anything else."""
        model, positions = edited.model_of(path), self.positions(edited, path)
        cursor = cursor_at(positions.text, positions.offset(position)) if path.endswith(CONFIG) else None
        return (model, cursor) if model and cursor else None


def _diagnostic(fault: Fault, positions: Positions) -> lsp.Diagnostic:
    severity, message = _SEVERITIES[fault.severity], "\n".join([fault.message, *fault.notes])
    return lsp.Diagnostic(positions.word(fault.place), message, severity, fault.rule, source=NAME)


def uri_of(path: Path) -> str:
    return uris.from_fs_path(str(path)) or ""
