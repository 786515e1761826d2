"""Fields that take values: one, or a list of them."""

from array import array
from collections.abc import Callable, Container
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from triton_ensembles.checking.fault import Edit
from triton_ensembles.checking.text.parsed import Path
from triton_ensembles.checking.text.reading import Frame, NotThisFormatError, Reading
from triton_ensembles.checking.text.template import in_brackets, in_quotes, is_word_to_fill_in
from triton_ensembles.checking.text.tokens import SCALARS, Kind, Token
from triton_ensembles.checking.text.values import NOTHING, NUMBERS, WrongValueError, read_value


class ValueReading(Reading):
    """The part of the parser that reads values."""

    def _scalars(self, message: Message, descriptor: FieldDescriptor, name: Token, path: Path) -> None:
        late = self.tokens.at("[") and self.tokens.next_is(":")
        has_colon = self._colon() is not None or late or self.tokens.now.kind is Kind.PLACEHOLDER
        if not has_colon and not self._next_field(name):
            known = self.tokens.now.kind in (Kind.NAME, Kind.INTEGER, Kind.FLOAT, Kind.STRING) or self.tokens.at("[")
            missing = f"':' is missing after '{name.text}'"
            end = name.offset + len(name.text)
            edits = (Edit(end, end, ":"),) if known else ()
            self._fault("config-syntax", self.tokens.now, missing, f"write {name.text}: …", certain=known, edits=edits)
        if self.tokens.at("["):
            self.parsed.offsets.setdefault((*path, descriptor.name), name.offset)
            if descriptor.is_repeated:
                self._list(lambda: self._scalar(message, descriptor, name, path))
                return
            self._fault("config-wrong-type", self.tokens.now, f"'{name.text}' takes one value, not a list", "")
            self._damage(path, descriptor.name)
            self.tokens.skip_value()
            return
        self._scalar(message, descriptor, name, path)

    def _scalar(self, message: Message, descriptor: FieldDescriptor, name: Token, path: Path) -> None:
        if self.tokens.at("[") and self._in_list:
            self._refuse_one_too_many()
        start, here = self.tokens.now, (*path, descriptor.name)
        minus = self.tokens.take_mark("-")
        if self.tokens.now.kind is Kind.PLACEHOLDER:
            behind = self.tokens.now
            self._placeholder(here)
            self._skip_rest(behind)
            return
        value = self._value(descriptor, name, path, minus)
        if value is NOTHING:
            self._damage(path, descriptor.name)
        elif descriptor.is_repeated:
            self.parsed.offsets.setdefault(here, name.offset)
            self.parsed.items.setdefault(here, array("q")).append(start.offset)
            getattr(message, descriptor.name).append(value)
        elif self._may_set(message, descriptor, name, path):
            self.parsed.offsets.setdefault(here, start.offset)
            setattr(message, descriptor.name, value)

    def _value(self, descriptor: FieldDescriptor, name: Token, path: Path, minus: Token | None) -> Any:
        """Read the value of a field, or what was meant, behind its sign; return NOTHING for none, which is reported."""
        first = self.tokens.now
        if self.tokens.at("{", "<") and (placeholder := in_brackets(self.text, first.offset)):
            self.placeholders.bare(placeholder, first.offset)
            self.tokens.go_to(first.offset + len(placeholder))
            return NOTHING
        if first.kind not in SCALARS or self._next_field(name):
            self._no_value(name, "config-wrong-type" if self.tokens.at("{", "<", "[") else "config-syntax")
            if self.tokens.at("{", "<", "["):
                self.tokens.skip_value()
            return NOTHING
        taken = [self.tokens.take()]
        while taken[0].kind is Kind.STRING and self.tokens.now.kind in (Kind.STRING, Kind.BAD_STRING):
            taken.append(self.tokens.take())
        placeholder = in_quotes("".join(part.text[1:-1] for part in taken if part.kind is Kind.STRING))
        if placeholder and (path, descriptor.name) == ((), "name"):
            self.placeholders.in_model_name(placeholder, first.offset)
        elif placeholder:
            self.placeholders.quoted(placeholder, first.offset, descriptor, path)
            return NOTHING
        try:
            return read_value(descriptor, minus is not None, taken)
        except WrongValueError as error:
            if first.kind is Kind.NAME and descriptor.cpp_type in NUMBERS and is_word_to_fill_in(first.text):
                self.placeholders.bare(first.text, first.offset)
                return NOTHING
            return self._meant(error, minus or first, taken)

    def _meant(self, error: WrongValueError, start: Token, taken: list[Token]) -> Any:
        """Report a wrong value, ``taken`` behind its sign at ``start``, and return what was meant, or NOTHING."""
        value = NOTHING if self._skip_rest(taken[-1]) else error.meant
        report = self._derails if taken[0].kind is Kind.JUNK else self._fault
        end = taken[-1].offset + len(taken[-1].text)
        exact = error.write and value is error.meant
        edits = (Edit(start.offset, end, error.write),) if exact else ()
        report(error.rule, start, error.message, error.cure if value is error.meant else "", edits=edits)
        if error.swallowed:
            raise NotThisFormatError
        return value

    def _list(self, item: Callable[[], None], inside: Container[str] | None = None) -> None:
        """``inside``: the fields of the messages that are the items, None for values."""
        opening = self.tokens.take()
        if self.tokens.at(":"):
            self._fault("config-syntax", self.tokens.take(), "this ':' belongs before the '['", "move it", certain=True)
        self._open.append(Frame("]"))
        before: Token | None = None  # the first token of the item before
        while True:
            if self.tokens.ended or self._ends_list(inside):
                self._unclosed(opening)
            if self.tokens.take_mark("]"):
                break
            if self.tokens.at("}", ">"):
                self._refuse_closer("]")
            if before:
                comma = self.tokens.take_mark(",")
                if self._ends_list(inside):
                    self._unclosed(opening)
                self._between(before, comma)
                if comma and self.tokens.at("]"):
                    continue
            before = self.tokens.now
            item()
            stuck = self.tokens.now.offset == before.offset
            if stuck and not self.tokens.ended and not self.tokens.at("]", "}", ">", ","):
                self.tokens.take()
        self._open.pop()

    def _between(self, before: Token, comma: Token | None) -> None:
        """Report a comma that is missing behind the item ``before``, or that stands at the end of the list."""
        if comma and self.tokens.at("]"):
            edits = (Edit(comma.offset, comma.offset + 1, ""),)
            self._fault("config-syntax", comma, "there is a comma before ']'", "delete it", True, edits)
        # A placeholder becomes several items, or none.
        elif comma is None and Kind.PLACEHOLDER not in (before.kind, self.tokens.now.kind):
            self._missing_comma()
