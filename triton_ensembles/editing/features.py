"""The requests of the language server protocol that are answered."""

from pathlib import Path

from lsprotocol import types as lsp
from pygls import uris
from pygls.exceptions import JsonRpcException

from triton_ensembles.checking.registry import RULES_BY_ID
from triton_ensembles.editing import completing, explaining
from triton_ensembles.editing.cursor import cursor_at
from triton_ensembles.editing.names import places_of
from triton_ensembles.editing.renaming import renamed
from triton_ensembles.editing.server import Server, uri_of
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.model_config import CONFIG

_REQUEST_FAILED = -32803  # LSP 3.17, ErrorCodes.RequestFailed: an editor shows the message
_KINDS = {
    "field": lsp.CompletionItemKind.Field,
    "value": lsp.CompletionItemKind.EnumMember,
    "model": lsp.CompletionItemKind.Module,
    "tensor": lsp.CompletionItemKind.Variable,
}
_COMPLETION = lsp.CompletionOptions(trigger_characters=['"', "'", ":", " "])
_ACTIONS = lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix])


def make_server() -> Server:
    """Return a server with all its features."""
    server = Server()
    for register in (_files, _answers, _changes):
        register(server)
    return server


def _files(server: Server) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.edit(params.text_document.uri, on_disk=True)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.edit(params.text_document.uri, on_disk=False)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        server.edit(params.text_document.uri, on_disk=True)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.edit(params.text_document.uri, on_disk=True)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def written(params: lsp.DidChangeWatchedFilesParams) -> None:
        for change in params.changes:
            if path := uris.to_fs_path(change.uri):
                server.desk.touch(Path(path), on_disk=True)
        server.check_soon()

    @server.feature(lsp.INITIALIZED)
    async def initialized(_: lsp.InitializedParams) -> None:
        workspace = server.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace else None
        if watching and watching.dynamic_registration:
            options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher("**/*")])
            watch = lsp.Registration("files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await server.client_register_capability_async(lsp.RegistrationParams([watch]))


def _answers(server: Server) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        if not (found := server.find(params.text_document.uri)):
            return None
        edited, path = found
        here = lsp.Range(params.position, params.position)
        rules = {fault.rule for fault, _ in server.faults_at(*found, here)} & set(RULES_BY_ID)
        parts = [explaining.of_rule(rule) for rule in sorted(rules)]
        positions, model = server.positions(*found), edited.model_of(path)
        if named := server.named(edited, path, params.position):
            parts.insert(0, explaining.of_name(named))
        elif model and path.endswith(CONFIG) and (at := cursor_at(positions.text, positions.offset(params.position))):
            parts.insert(0, explaining.of_cursor(at))
        text = "\n\n---\n\n".join(dict.fromkeys(filter(None, parts)))
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text)) if text else None

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, _COMPLETION)
    def completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        found = server.find(params.text_document.uri)
        model = found[0].model_of(found[1]) if found else None
        if not found or not model:
            return []
        positions = server.positions(*found)
        offset = positions.offset(params.position)
        propose = completing.in_python if found[1].endswith(".py") else completing.in_config
        proposals = propose(model, positions.text, offset) if found[1].endswith((".py", CONFIG)) else ()
        return [
            lsp.CompletionItem(
                each.label,
                kind=_KINDS[each.kind],
                detail=each.detail or None,
                documentation=each.meaning or None,
                filter_text=each.text,
                text_edit=lsp.TextEdit(positions.range(each.start, offset), each.text),
            )
            for each in proposals
        ]

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        found = server.find(params.text_document.uri)
        named = server.named(*found, params.position) if found else None
        if not found or not named:
            return None
        first = next(places_of(named), None) if named.tensor else (named.model, ())
        if first is None or not first[0].file.content:
            return None
        path = found[0].file_of(place := first[0].at(*first[1]))
        return lsp.Location(uri_of(found[0].path / path), server.positions(found[0], path).word(place))


def _changes(server: Server) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, _ACTIONS)
    def code_action(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        if not (found := server.find(params.text_document.uri)):
            return []
        edited, path = found
        actions = []
        for fault, shown in server.faults_at(edited, path, params.range):
            if (fault.edits or fault.makes) and edited.fixed([fault]):
                edit = lsp.WorkspaceEdit(server.changes(edited, {path: fault.edits}))
                if fault.makes:
                    made = Path(fault.place.path).absolute() / fault.makes
                    edit = lsp.WorkspaceEdit(document_changes=[lsp.CreateFile(uri_of(made))])
                title = fault.cure or fault.message
                actions.append(lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, [shown], edit=edit))
        return actions

    @server.feature(lsp.TEXT_DOCUMENT_RENAME)
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        found = server.find(params.text_document.uri)
        named = server.named(*found, params.position) if found else None
        if not found or not named or not named.tensor:
            return None
        try:
            return lsp.WorkspaceEdit(server.changes(found[0], renamed(found[0], named, params.new_name)))
        except EnsembleError as error:
            raise JsonRpcException(str(error), _REQUEST_FAILED) from error
