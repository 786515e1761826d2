"""Fields that take values: one, or a list of them."""

from array import array
from collections.abc import Callable, Container

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from triton_ensembles.checking.fault import Edit
from triton_ensembles.checking.text.parsed import Path
from triton_ensembles.checking.text.reading import Frame, Reading
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
            self._one_too_many()
        minus = self.tokens.take_mark("-")
        first = self.tokens.now
        here = (*path, descriptor.name)
        if first.kind is Kind.PLACEHOLDER:
            self._placeholder(here)
            self._skip_rest(first)
            return
        if self.tokens.at("{", "<") and (placeholder := in_brackets(self.text, first.offset)):
            self.placeholders.bare(placeholder, first.offset)
            self._damage(path, descriptor.name)
            self.tokens.go_to(first.offset + len(placeholder))
            return
        if first.kind not in SCALARS or self._next_field(name):
            self._no_value(name, "config-wrong-type" if self.tokens.at("{", "<", "[") else "config-syntax")
            self._damage(path, descriptor.name)
            if self.tokens.at("{", "<", "["):
                self.tokens.skip_value()
            return
        taken = [self.tokens.take()]
        while taken[0].kind is Kind.STRING and self.tokens.now.kind in (Kind.STRING, Kind.BAD_STRING):
            taken.append(self.tokens.take())
        placeholder = in_quotes("".join(part.text[1:-1] for part in taken if part.kind is Kind.STRING))
        if placeholder and (path, descriptor.name) == ((), "name"):
            self.placeholders.in_model_name(placeholder, first.offset)
        elif placeholder:
            self.placeholders.quoted(placeholder, first.offset, descriptor, path)
            self._damage(path, descriptor.name)
            return
        try:
            value = read_value(descriptor, minus is not None, taken)
        except WrongValueError as error:
            if first.kind is Kind.NAME and descriptor.cpp_type in NUMBERS and is_word_to_fill_in(first.text):
                self.placeholders.bare(first.text, first.offset)
                self._damage(path, descriptor.name)
                return
            value = NOTHING if self._skip_rest(taken[-1]) else error.meant
            report = self._derails if first.kind is Kind.JUNK else self._fault
            end = taken[-1].offset + len(taken[-1].text)
            exact = error.write and value is error.meant
            edits = (Edit((minus or first).offset, end, error.write),) if exact else ()
            cure = error.cure if value is error.meant else ""
            report(error.rule, minus or first, error.message, cure, edits=edits)
            if error.swallowed:
                self._structure_lost = self._swallowed = True
        if value is NOTHING:
            self._damage(path, descriptor.name)
            return
        if descriptor.is_repeated:
            self.parsed.offsets.setdefault(here, name.offset)
            self.parsed.items.setdefault(here, array("q")).append((minus or first).offset)
            getattr(message, descriptor.name).append(value)
        elif self._may_set(message, descriptor, name, path):
            self.parsed.offsets.setdefault(here, (minus or first).offset)
            setattr(message, descriptor.name, value)

    def _list(self, item: Callable[[], None], inside: Container[str] | None = None) -> None:
        """``inside``: the fields of the messages that are the items, None for values."""
        opening = self.tokens.take()
        if self.tokens.at(":"):
            self._fault("config-syntax", self.tokens.take(), "this ':' belongs before the '['", "move it", certain=True)
        self._open.append(Frame("]"))
        first = True
        before = Kind.END
        while True:
            if self._unwind_to is not None:
                break
            if self.tokens.ended or self._ends_list(inside):
                self._unclosed(opening)
                break
            if self.tokens.at("]"):
                self.tokens.take()
                break
            if self.tokens.at("}", ">"):
                if self._stray_closer("]"):
                    break
                continue
            if not first:
                comma = self.tokens.take_mark(",")
                if self._ends_list(inside):
                    self._unclosed(opening)
                    break
                if comma is None and Kind.PLACEHOLDER in (before, self.tokens.now.kind):
                    pass  # which becomes several items, or none
                elif comma is None:
                    self._missing_comma()
                elif self.tokens.at("]"):
                    edits = (Edit(comma.offset, comma.offset + 1, ""),)
                    self._fault("config-syntax", comma, "there is a comma before ']'", "delete it", True, edits)
                    continue
            first = False
            before, start = self.tokens.now.kind, self.tokens.now.offset
            item()
            stuck = self.tokens.now.offset == start and self._unwind_to is None
            if stuck and not self.tokens.ended and not self.tokens.at("]", "}", ">", ","):
                self.tokens.take()
        self._open.pop()
