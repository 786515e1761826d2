"""The requests of the language server protocol that are answered. pygls gives each function the server as ``ls``."""

from pathlib import Path
from typing import Any

from lsprotocol import types as lsp

from triton_ensembles.checking.registry import RULES_BY_ID
from triton_ensembles.editing import explaining
from triton_ensembles.editing.completing import Completion
from triton_ensembles.editing.names import meant, place_of
from triton_ensembles.editing.server import Server, uri_of


def make_server() -> Server:
    """Return a server with all its features."""
    server = Server()
    server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)(_typed)
    for method in (lsp.TEXT_DOCUMENT_DID_OPEN, lsp.TEXT_DOCUMENT_DID_SAVE, lsp.TEXT_DOCUMENT_DID_CLOSE):
        server.feature(method)(_saved)
    server.feature(lsp.INITIALIZED)(_initialized)
    server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)(_written)
    server.feature(lsp.TEXT_DOCUMENT_HOVER)(_hover)
    triggers = lsp.CompletionOptions(trigger_characters=['"', "'", ":", " "])
    server.feature(lsp.TEXT_DOCUMENT_COMPLETION, triggers)(_completion)
    server.feature(lsp.TEXT_DOCUMENT_DEFINITION)(_definition)
    kinds = lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix])
    server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, kinds)(_code_action)
    return server


def _typed(ls: Server, _: lsp.DidChangeTextDocumentParams) -> None:
    ls.check_soon()


def _saved(ls: Server, params: Any) -> None:
    ls.write(params.text_document.uri)


def _written(ls: Server, params: lsp.DidChangeWatchedFilesParams) -> None:
    for change in params.changes:
        ls.write(change.uri)


async def _initialized(ls: Server, _: lsp.InitializedParams) -> None:
    workspace = ls.client_capabilities.workspace
    watching = workspace.did_change_watched_files if workspace else None
    if watching and watching.dynamic_registration:
        options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher("**/*")])
        watch = lsp.Registration("files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        await ls.client_register_capability_async(lsp.RegistrationParams([watch]))


def _hover(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    if not (found := ls.find(params.text_document.uri)):
        return None
    rules = {fault.rule for fault, _ in ls.faults_at(*found, lsp.Range(params.position, params.position))}
    parts = [explaining.of_rule(rule) for rule in sorted(rules & set(RULES_BY_ID))]
    if here := ls.cursor(*found, params.position):
        named = meant(*here)
        parts.insert(0, explaining.of_name(named) if named else explaining.of_cursor(here[1]))
    text = "\n\n---\n\n".join(dict.fromkeys(filter(None, parts)))
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text)) if text else None


def _completion(ls: Server, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    found = ls.find(params.text_document.uri)
    here = ls.cursor(*found, params.position) if found else None
    if not found or not here:
        return []
    positions = ls.positions(*found)
    return list(Completion(*here, positions, positions.offset(params.position)).items())


def _definition(ls: Server, params: lsp.DefinitionParams) -> lsp.Location | None:
    found = ls.find(params.text_document.uri)
    here = ls.cursor(*found, params.position) if found else None
    named = meant(*here) if here else None
    path = place_of(named) if named else None
    if not found or not named or path is None or not named.model.file.content:
        return None
    file = found[0].file_of(place := named.model.at(*path))
    return lsp.Location(uri_of(found[0].path / file), ls.positions(found[0], file).word(place))


def _code_action(ls: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    if not (found := ls.find(params.text_document.uri)):
        return []
    edited, path = found
    positions, actions = ls.positions(edited, path), []
    for fault, shown in ls.faults_at(edited, path, params.range):
        if (fault.edits or fault.makes) and edited.fixed([fault]):
            edits = [lsp.TextEdit(positions.range(edit.start, edit.end), edit.text) for edit in fault.edits]
            edit = lsp.WorkspaceEdit({uri_of(edited.path / path): edits})
            if fault.makes:
                made = Path(fault.place.path).absolute() / fault.makes
                edit = lsp.WorkspaceEdit(document_changes=[lsp.CreateFile(uri_of(made))])
            title = fault.cure or fault.message
            actions.append(lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, [shown], edit=edit))
    return actions
