"""config.pbtxt read with places and with recovery: every fault is reported, and the rest still becomes a ModelConfig.
Only a bracket that is missing, or one too many, ends the reading: what follows may belong elsewhere.

Where the text says something that protobuf refuses but whose meaning is plain (a misspelled field, ``"8"`` for a
number), the meaning goes into the message, so that later rules see what was meant and do not report consequences.
"""

import re
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from triton_ensembles.checking.fault import Edit
from triton_ensembles.checking.text.parsed import Parsed, Path, TextFault
from triton_ensembles.checking.text.reading import (
    MOST_FAULTS,
    Frame,
    NotThisFormatError,
    TooManyFaultsError,
    is_map,
    message_name,
    names_within,
    present,
)
from triton_ensembles.checking.text.tokens import PAIRS, Kind, Token
from triton_ensembles.checking.text.value_reading import ValueReading
from triton_ensembles.ground.spelling import choices, nearest, only_near
from triton_ensembles.triton.model_config import ModelConfig

_PROSE = re.compile(r"[^\n:={}\[\]]*(?:\n|\Z)")
_SPACED = re.compile(r"\w+(?:[ \t]+\w+)+(?=\s*[:\[{])")
_HYPHENATED = re.compile(r"[A-Za-z]\w*(?:-[A-Za-z]\w*)+(?=\s*[:{\[])")


def parse(text: str, message: Message) -> Parsed:
    """Read ``text`` into ``message`` (empty before).

    What may have been meant is guessed only of a text that protobuf refuses: a comment in which somebody writes
    ``{{ x }}``, or a string that ends with a bracket, is nobody's template and no mistake.
    """
    parsed = _parse(text, message, guesses=False)
    if not parsed.refused:
        return parsed
    return _parse(text, type(message)(), guesses=True)


def _parse(text: str, message: Message, *, guesses: bool) -> Parsed:
    parser = _Parser(text, message, guesses=guesses)
    parsed = parser.parsed
    try:
        parser.read()
    except NotThisFormatError:
        parsed.damaged.add(())
        parsed.faults += parser.placeholders.faults()
        parser.report_habits()
    except TooManyFaultsError:
        parsed.damaged.add(())
        wrong = f"the text continues, but after {MOST_FAULTS} faults it is not read any further"
        parsed.faults.append(TextFault("config-syntax", parser.tokens.now.offset, wrong, "fix those above first"))
    return parsed


class _Parser(ValueReading):
    def read(self) -> None:
        self._fields(self.parsed.message, (), None)
        if self.placeholders.hide_model_name:
            self.parsed.damaged.add(("name",))
        self.parsed.faults += self.placeholders.faults()
        self.report_habits()

    # --- messages ------------------------------------------------------------------------------------------------

    def _fields(self, message: Message, path: Path, opening: Token | None) -> None:
        """Fields up to the bracket that closes ``opening``, which is taken too (or up to the end of the text)."""
        closer = PAIRS[opening.text] if opening else ""
        if closer and self.tokens.take_mark(closer):
            return
        self._open.append(Frame(closer, message.DESCRIPTOR))
        while True:
            if self.tokens.now.kind is Kind.NAME:
                self._field(message, path)
            elif self.tokens.ended:
                if opening:
                    self._unclosed(opening)
                break
            elif closer and self.tokens.take_mark(closer):
                break
            elif self.tokens.at("}", ">", "]"):
                self._refuse_closer(closer)
            elif self.tokens.now.kind is Kind.PLACEHOLDER:
                self._placeholder(path)
                self.tokens.skip_value()
            else:
                self._junk(message, path)
        self._open.pop()

    def _junk(self, message: Message, path: Path) -> None:
        first = self.tokens.now
        if self.text[first.offset - 1 : first.offset] == "{":
            if first.text == "{":
                self._template("{{", first.offset)
        else:
            self._refuse_one_too_many()
        cure = f"a field of {message.DESCRIPTOR.name} is {choices(message.DESCRIPTOR.fields_by_name)}"
        if first.text.startswith("/") or first.text in (";", "-"):
            cure = "a comment begins with #"
        if self._latest is None or cure.startswith("a comment"):
            wrong = f"expected the name of a field, found '{first.text.strip()[:40]}'"
            self._derails("config-syntax", first, wrong, cure)
        if first.text.startswith("/"):
            self.tokens.skip_line()
            return
        if not self.tokens.at(",", ";"):
            self.parsed.damaged.add(path)
        while not self.tokens.ended and self.tokens.now.kind is not Kind.NAME and not self.tokens.at("}", ">", "]"):
            self.tokens.skip_one()
        self._skip_rest(first)
        self.tokens.take_mark(",", ";")

    def _field(self, message: Message, path: Path) -> None:
        name, wrong = self.tokens.now, self._wrong
        hyphen = self.text.startswith("-", name.offset + len(name.text))
        hyphenated = _HYPHENATED.match(self.text, name.offset) if hyphen else None
        spaced = _SPACED.match(self.text, name.offset)
        if spaced and re.sub(r"\s+", "_", spaced[0]) in message.DESCRIPTOR.fields_by_name:
            hyphenated = spaced
        if hyphenated:  # as YAML has them: instance-group
            name = name._replace(text=hyphenated[0])
        descriptor = self._named(message, name)
        if hyphenated:
            self.tokens.go_to(name.offset + len(name.text))
        else:
            self.tokens.take()
        if descriptor is None and path:  # shape for dims: do not also report that this message has no dims
            self.parsed.damaged.add(path)
        if self.tokens.now.text == name.text and self.tokens.next_is(":", "{", "["):
            self._fault("config-syntax", self.tokens.take(), f"'{name.text}' is written twice", "delete one of the two")
        if descriptor is None and _PROSE.match(self.text, self.tokens.now.offset):
            self.tokens.skip_line()  # a comment without its #
        elif descriptor is None:
            self.tokens.skip_value()
            self._skip_rest(name)
        elif descriptor.message_type is not None:
            self._messages(message, descriptor, name, path)
        else:
            self._scalars(message, descriptor, name, path)
        if self._wrong == wrong and descriptor is not None:
            self._latest = None
        self.tokens.take_mark(",", ";")

    def _named(self, message: Message, name: Token) -> FieldDescriptor | None:
        """The field called ``name``, or the one that was probably meant; reports all that is wrong with the name."""
        fields = message.DESCRIPTOR.fields_by_name
        if name.text in fields:
            return fields[name.text]
        kind = message.DESCRIPTOR.name
        levels = [index for index, frame in enumerate(self._open[:-1]) if frame.has(name.text)]
        if levels and not self._balanced:
            wrong = f"'{name.text}' is a field of {self._open[levels[-1]].name}, and a bracket is still open"
            cure = f"write {' '.join(frame.closer for frame in reversed(self._open[levels[-1] + 1 :]))} before it"
            self._lose_structure("config-unclosed", name, wrong, cure)
        guess = nearest(name.text, fields)
        edits: tuple[Edit, ...] = ()
        if guess:
            cure = f"did you mean '{guess}'?"
        elif levels:
            cure = f"it is a field of {self._open[levels[-1]].name}: move it out of these brackets"
        else:
            inner = [field for field in message.DESCRIPTOR.fields if field.message_type and not is_map(field)]
            holders = [field.name for field in inner if name.text in field.message_type.fields_by_name]
            cure = f"a field of {kind} is {choices(fields, 40)}"
            cure = f"it is a field of {choices(holders)}: move it in there" if 0 < len(holders) < 4 else cure
        known = names_within(ModelConfig.DESCRIPTOR).get(name.text)
        # A field of another message, whose content is of its own kind: input_map is no misspelt input.
        is_other = guess is None or (known and message_name(fields[guess]) not in known)
        if guess and not is_other and guess == only_near(name.text, fields):
            edits = (Edit(name.offset, name.offset + len(name.text), guess),)
        report = self._derails if guess is None and known else self._fault
        report("config-unknown-field", name, f"{kind} has no field '{name.text[:60]}'", cure, edits=edits)
        if guess is None or is_other:
            return None
        return None if not fields[guess].is_repeated and present(message, fields[guess]) else fields[guess]

    # --- values --------------------------------------------------------------------------------------------------

    def _messages(self, message: Message, descriptor: FieldDescriptor, name: Token, path: Path) -> None:
        colon = self._colon() is not None
        self.parsed.offsets.setdefault((*path, descriptor.name), name.offset)
        if descriptor.is_repeated and self.tokens.at("["):
            fields = descriptor.message_type.fields_by_name
            self._list(lambda: self._message(message, descriptor, self.tokens.now, path, False), fields)
        else:
            self._message(message, descriptor, name, path, colon)

    def _message(self, message: Message, descriptor: FieldDescriptor, place: Token, path: Path, colon: bool) -> None:
        if self.tokens.at("["):
            self._refuse_one_too_many()
        here = (*path, descriptor.name)
        opening = self.tokens.take_mark("{", "<")
        if opening is None:
            self._refuse_missing_opening(descriptor.message_type.fields_by_name, descriptor.name)
        if opening is None and self.tokens.now.kind is Kind.PLACEHOLDER:
            self._placeholder(here)
            return
        if opening is None and colon and (self._next_field(place) or self._group_ends()):
            self._no_value(place, "config-syntax")
            self._damage(path, descriptor.name)
            return
        if opening is None:
            written = self.tokens.now.text.strip()[:40] or "nothing"
            wrong = f"'{descriptor.name}' is a group of fields, not {written}"
            self._derails("config-wrong-type", self.tokens.now, wrong, f"write {descriptor.name} {{ … }}")
            self._damage(path, descriptor.name)
            if not self.tokens.line_ends_before(place.offset):
                self.tokens.skip_value()
                self._skip_rest(place)
            return
        if is_map(descriptor):
            self._entry(message, descriptor, place, opening, path)
        elif descriptor.is_repeated:
            items = getattr(message, descriptor.name)
            here = (*here, len(items))
            self.parsed.offsets.setdefault(here, place.offset)
            self._fields(items.add(), here, opening)
        elif self._may_set(message, descriptor, place, path):
            getattr(message, descriptor.name).SetInParent()
            self._fields(getattr(message, descriptor.name), here, opening)
        else:
            outside = self.parsed  # of what is there already, nothing is kept but the faults
            self.parsed = Parsed(message, outside.faults)
            self._fields(GetMessageClass(descriptor.message_type)(), here, opening)
            self.parsed = outside

    def _entry(self, message: Message, descriptor: FieldDescriptor, place: Token, opening: Token, path: Path) -> None:
        """``parameters { key: … value: … }``: its places are known by the key, which may come last."""
        entry: Any = GetMessageClass(descriptor.message_type)()
        outside = self.parsed
        inside = self.parsed = Parsed(entry, outside.faults)
        self._fields(entry, (), opening)
        self.parsed = outside
        if any(damage[:1] in ((), ("key",)) for damage in inside.damaged):
            self._damage(path, descriptor.name)
            return
        entries = getattr(message, descriptor.name)
        if entry.key in entries:
            key = f"'{entry.key}'" if isinstance(entry.key, str) else entry.key
            wrong = f"'{descriptor.name}' has the key {key} twice, and only the last one counts"
            self._fault("config-map-key-twice", place, wrong, "keep one of the two")
        if descriptor.message_type.fields_by_name["value"].message_type is not None:
            entries[entry.key].CopyFrom(entry.value)
        else:
            entries[entry.key] = entry.value
        start = (*path, descriptor.name, entry.key)
        self.parsed.offsets[start] = place.offset
        self.parsed.offsets.update({(*start, *inner): offset for inner, offset in inside.offsets.items()})
        self.parsed.items.update({(*start, *inner): offsets for inner, offsets in inside.items.items()})
        self.parsed.damaged.update((*start, *inner) for inner in inside.damaged)
