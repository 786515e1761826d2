"""Completions of what somebody types."""

import re
from collections.abc import Iterator

from google.protobuf.descriptor import FieldDescriptor
from lsprotocol.types import CompletionItem, CompletionItemKind, TextEdit

from triton_ensembles.checking.repository import Model
from triton_ensembles.checking.text.tokens import Kind
from triton_ensembles.editing.cursor import Cursor
from triton_ensembles.editing.names import offered
from triton_ensembles.editing.positions import Positions
from triton_ensembles.triton.backends import BACKENDS
from triton_ensembles.triton.model_config_fields import meaning_of_field, meaning_of_value, type_of_field


class Completion:
    """The fields, values and names that may stand at ``offset`` of a model's config, which ``cursor`` is about."""

    def __init__(self, model: Model, cursor: Cursor, positions: Positions, offset: int) -> None:
        self._model, self._cursor = model, cursor
        token = cursor.token
        self._is_quoted = token is not None and token.kind in (Kind.STRING, Kind.BAD_STRING)
        start = token.offset + self._is_quoted if token else offset
        self._replaced = positions.range(start, offset)
        self._rest = positions.text[offset : offset + 200]

    def items(self) -> Iterator[CompletionItem]:
        """Yield what replaces the word before the position."""
        field = self._cursor.field
        if field is None:
            is_ended = re.match(r"\w*[ \t]*[:{\[]", self._rest)
            for each in self._cursor.message.fields:
                text = each.name if is_ended else each.name + (" " if each.message_type else ": ")
                kind = CompletionItemKind.Field
                yield self._item(each.name, text, kind, type_of_field(each), meaning_of_field(each))
        elif field.enum_type:
            for value in field.enum_type.values_by_name:
                meaning = meaning_of_value(field.enum_type, value)
                yield self._item(value, value, CompletionItemKind.EnumMember, "", meaning)
        elif field.type == FieldDescriptor.TYPE_BOOL:
            for value in ("true", "false"):
                yield self._item(value, value, CompletionItemKind.EnumMember)
        elif field.type == FieldDescriptor.TYPE_STRING:
            yield from self._names(field.name)

    def _names(self, field: str) -> Iterator[CompletionItem]:
        names, kind = offered(self._model, self._cursor), CompletionItemKind.Variable
        if field == "model_name":
            kind = CompletionItemKind.Module
        if field == "backend" and not self._cursor.path:
            names, kind = dict.fromkeys(BACKENDS, ""), CompletionItemKind.EnumMember
        for name, about in names.items():
            yield self._item(name, name if self._is_quoted else f'"{name}"', kind, about)

    def _item(
        self, label: str, text: str, kind: CompletionItemKind, detail: str = "", meaning: str = ""
    ) -> CompletionItem:
        edit = TextEdit(self._replaced, text)
        return CompletionItem(
            label, kind=kind, detail=detail or None, documentation=meaning or None, filter_text=text, text_edit=edit
        )
