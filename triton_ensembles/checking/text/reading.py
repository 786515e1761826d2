"""The state of reading one config.pbtxt: what is open, what was found, and how to go on after a fault."""

import unicodedata
from collections.abc import Container
from functools import cache, cached_property
from typing import NamedTuple, NoReturn

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from triton_ensembles.checking.fault import Edit
from triton_ensembles.checking.text.parsed import Parsed, Path, TextFault
from triton_ensembles.checking.text.placeholders import Placeholders
from triton_ensembles.checking.text.template import is_statement
from triton_ensembles.checking.text.tokens import PAIRS, SCALARS, Kind, Token, Tokens, brackets_balance
from triton_ensembles.ground.spelling import most_of

MOST_FAULTS = 100
_MOST_WRONG = 2000  # things that are wrong, those included that are not reported since they follow from another


class TooManyFaultsError(Exception):
    pass


class NotThisFormatError(Exception):
    """The rest of the text is not read: a bracket is missing, or it makes no sense; the fault says why."""


@cache
def names_within(descriptor: Descriptor) -> dict[str, set[str]]:
    """The names of all fields of a message and of those inside: which messages each takes, "" for a value."""
    names: dict[str, set[str]] = {}
    waiting = [descriptor]
    seen: set[str] = set()
    while waiting:
        message = waiting.pop()
        if message.full_name not in seen:
            seen.add(message.full_name)
            for field in message.fields:
                names.setdefault(field.name, set()).add(message_name(field))
            waiting += [field.message_type for field in message.fields if field.message_type is not None]
    return names


def message_name(field: FieldDescriptor) -> str:
    """The name of the messages that a field takes, "" when it takes values."""
    return str(field.message_type.full_name) if field.message_type is not None else ""


class Frame(NamedTuple):
    """A message or a list that is open; ``closer``: the bracket that closes it, "" for the whole text."""

    closer: str
    message: Descriptor | None = None  # None: a list

    @property
    def name(self) -> str:
        return str(self.message.name) if self.message else ""

    def has(self, field: str) -> bool:
        """Return whether it is a message with this field."""
        return self.message is not None and field in self.message.fields_by_name


class Reading:
    """``text`` as tokens, and what has become of it so far.

    ``guesses``: whether to look for what protobuf refuses but somebody may have meant, such as placeholders.
    """

    def __init__(self, text: str, message: Message, *, guesses: bool) -> None:
        self.text = text
        self.tokens = Tokens(text, placeholders=guesses)
        self.parsed = Parsed(message)
        self._open: list[Frame] = []  # the messages and lists around the current token, the outermost first
        self._equals: list[Token] = []
        self._again: list[Token] = []  # the names of the outermost fields that were already given
        self._empty: list[Token] = []  # the names of fields without a value
        self._latest: TextFault | None = None  # None again as soon as a field was read without a fault
        self._wrong = 0
        self.placeholders = Placeholders()

    @property
    def _in_list(self) -> bool:
        return self._open[-1].message is None

    @cached_property
    def _balanced(self) -> bool:
        return brackets_balance(self.text)

    def _unclosed(self, opening: Token) -> NoReturn:
        cure = f"write {PAIRS[opening.text]} where it ends"
        self._lose_structure("config-unclosed", opening, f"this '{opening.text}' is never closed", cure)

    def _lose_structure(self, rule: str, token: Token, message: str, cure: str) -> NoReturn:
        """Report a bracket that is missing or too many, and stop: what follows may belong elsewhere."""
        self._fault(rule, token, message, cure)
        raise NotThisFormatError

    def _one_more_wrong(self) -> None:
        """Stop where nearly nothing is right: what is reported says why, and more of it would only take time."""
        self._wrong += 1
        if self._wrong == _MOST_WRONG:
            raise NotThisFormatError

    def _refuse_one_too_many(self) -> None:
        """Report an opening bracket that stands where none belongs, if the text has one too many."""
        if self.tokens.at(*PAIRS) and not self._balanced:
            token = self.tokens.now
            self._lose_structure("config-syntax", token, f"this '{token.text}' is one too many", "delete it")

    def _ends_list(self, inside: Container[str] | None) -> bool:
        """Return whether the current token is a field behind a list that is not closed."""
        now = self.tokens.now
        if now.kind is not Kind.NAME:
            return False
        if inside is not None:
            return now.text not in inside
        known = any(frame.has(now.text) for frame in self._open)
        return known and self.tokens.next_is(":", "{", "[")

    def _refuse_missing_opening(self, fields: Container[str], name: str) -> None:
        """Report the bracket that is missing before the current token, one of the ``fields`` that belong inside."""
        now = self.tokens.now
        if now.kind is Kind.NAME and now.text in fields and self.tokens.next_is(":", "{", "["):
            self._lose_structure("config-syntax", now, f"'{{' is missing after '{name}'", "write { before it")

    def _placeholder(self, path: Path) -> None:
        token = self.tokens.take()
        self.placeholders.bare(token.text, token.offset)
        if is_statement(token.text):
            self._template("", 0)
        self.parsed.damaged.add(path)

    def _template(self, text: str, offset: int) -> NoReturn:
        """Report only the placeholders of a template whose structure is unknown."""
        if text:
            self.placeholders.bare(text, offset)
        self.parsed.faults.clear()
        raise NotThisFormatError

    def _no_value(self, name: Token, rule: str) -> None:
        """Report that the current token is no value for the field ``name``. A form that nobody filled in has many."""
        self._one_more_wrong()
        now = self.tokens.now
        if now.kind is Kind.END and len(self._open) > 1:
            return  # the bracket that is still open is reported
        if rule == "config-syntax" and (now.kind is not Kind.MARK or self._balanced):
            if not self._follows(rule, name):
                self._empty.append(name)
            return
        report = self._derails if now.kind is Kind.MARK else self._fault
        place = name if now.kind is Kind.NAME else now
        report(rule, place, f"'{name.text}' has no value here", f"write {name.text}: and its value")

    def _next_field(self, name: Token) -> bool:
        """Return whether the value of ``name`` is missing, so that the current token is the next field."""
        now = self.tokens.now
        if now.kind is not Kind.NAME:
            return False
        message = next(frame for frame in reversed(self._open) if frame.message)
        if self.tokens.next_is(":", "{", "[") and message.has(now.text):
            return True
        if not self.tokens.line_ends_before(name.offset):
            return False
        known = any(frame.has(now.text) for frame in self._open)
        return known and self.tokens.next_is(":", "=", "{", "[", "<")

    def _group_ends(self) -> bool:
        """Return whether nothing of the current message follows, or a separator does."""
        return self.tokens.ended or self.tokens.at("}", ">", "]", ",", ";")

    def _skip_rest(self, last: Token) -> bool:
        """Take what belongs to a wrong value whose last token is ``last``: "8 or 16". Whether there was anything."""
        skipped = False
        in_list = self._in_list
        end = self.tokens.line_end(last.offset)
        while not self.tokens.ended and self.tokens.now.offset <= end:
            more = self.tokens.at(",") and not in_list and not self.tokens.next_is_name()
            if not (self.tokens.now.kind in SCALARS or more or self.tokens.at(":", "=", "-")):
                break
            if self.tokens.now.kind is Kind.NAME and self.tokens.next_is(":", "=", "{", "[", "<"):
                break
            self.tokens.take()
            skipped = True
        return skipped

    def _colon(self) -> Token | None:
        mark = self.tokens.take_mark(":", "=")
        if mark and (mark.text == "=" or self.tokens.at("=")):
            self.tokens.take_mark("=")  # := and ==
            self._equals.append(mark)
        return mark

    def _fault(
        self, rule: str, token: Token, message: str, cure: str, certain: bool = False, edits: tuple[Edit, ...] = ()
    ) -> None:
        """``certain``: the reading continues as if it were right, so nothing follows from it, and it from nothing."""
        self._one_more_wrong()
        if not certain and self._follows(rule, token):
            return
        if len(self.parsed.faults) >= MOST_FAULTS:
            raise TooManyFaultsError
        fault = TextFault(rule, token.offset, message, cure, edits)
        self.parsed.faults.append(fault)
        if not certain:
            self._latest = fault

    def _follows(self, rule: str, token: Token) -> bool:
        """Return whether a fault may only be the consequence of the latest one: nothing was read well between them."""
        before = self._latest
        if before is None or self.tokens.line_end(before.offset) < token.offset:
            return False
        if rule == "config-syntax":
            return True
        if rule == "config-field-twice":
            return before.rule == rule  # a line that is there twice
        return rule in ("config-unknown-field", "config-wrong-type") and before.rule == "config-syntax"

    def _derails(self, rule: str, token: Token, message: str, cure: str, *, edits: tuple[Edit, ...] = ()) -> None:
        """Report what stands in the place of a bracket; if the brackets do not balance, the rest may follow from it."""
        if self._balanced:
            self._fault(rule, token, message, cure, edits=edits)
        else:
            self._lose_structure(rule, token, message, cure)

    def _damage(self, path: Path, name: str) -> None:
        self._one_more_wrong()
        self.parsed.damaged.add((*path, name))

    def report_habits(self) -> None:
        """Report what occurs all over a text as one fault."""
        if self._empty:
            names = most_of(f"'{name}'" for name in dict.fromkeys(token.text for token in self._empty))
            have = "has" if len(self._empty) == 1 else "have"
            message, cure = f"{names} {have} no value here", f"write {self._empty[0].text}: and its value"
            self.parsed.faults.append(TextFault("config-syntax", self._empty[0].offset, message, cure))
        if len(self._again) > 1:  # the rest of the copy follows from it
            start, names = self._again[0].offset, most_of(f"'{token.text}'" for token in self._again)
            twice = ("config-field-twice", "config-map-key-twice")
            self.parsed.faults[:] = [
                fault for fault in self.parsed.faults if fault.rule not in twice or fault.offset < start
            ]
            message = f"{names} are already given above: is this config here twice?"
            self.parsed.faults.append(TextFault("config-field-twice", start, message, "keep one of the two copies"))
        for places, habit, cure, write in (
            ([token.offset for token in self._equals], "'=' is not protobuf text", "write ':' instead", ":"),
            (self.tokens.odd_spaces, "there is an invisible character here: {}", "write an ordinary space", " "),
        ):
            if places:
                name = unicodedata.name(self.text[places[0]], f"U+{ord(self.text[places[0]]):04X}").lower()
                more = f" (and {len(places) - 1} more further down)" if len(places) > 1 else ""
                mark = self.text[places[0]] == "\ufeff" and places[0] == 0
                fix = "save the file as UTF-8 without a byte order mark" if mark else cure
                ends = [place + (2 if self.text[place + 1 : place + 2] == "=" else 1) for place in places]
                edits = () if mark else tuple(Edit(*span, write) for span in zip(places, ends, strict=True))
                self.parsed.faults.append(TextFault("config-syntax", places[0], habit.format(name) + more, fix, edits))

    def _refuse_closer(self, closer: str) -> NoReturn:
        """Report a closing bracket of another kind."""
        token = self.tokens.now
        if closer and any(frame.closer == token.text for frame in self._open[:-1]):
            message = f"'{token.text}' comes before the '{closer}' that is still missing"
            self._lose_structure("config-unclosed", token, message, f"write {closer} before it")
        cure = f"write {closer} for it, or delete it" if closer else "delete it"
        self._lose_structure("config-syntax", token, f"this '{token.text}' closes nothing", cure)

    def _missing_comma(self) -> None:
        now = self.tokens.now
        if now.kind is Kind.MARK and now.text in ",:;":
            self._fault("config-syntax", now, f"expected ',' or ']', found '{now.text}'", "write a comma", certain=True)
            self.tokens.take()
            return
        certain = now.kind in (Kind.INTEGER, Kind.FLOAT, Kind.STRING)
        message = "a comma is missing between two items of a list"
        if certain or now.text == "{":
            edits = (Edit(self.tokens.taken_to, self.tokens.taken_to, ","),)
            self._fault("config-syntax", now, message, "write a comma", certain, edits)
        else:
            self._derails("config-syntax", now, message, "write a comma")

    def _may_set(self, message: Message, descriptor: FieldDescriptor, place: Token, path: Path) -> bool:
        """False, with a fault, when a singular field comes again or another member of its oneof is there already."""
        if present(message, descriptor):
            wrong = f"'{descriptor.name}' was already given in this {message.DESCRIPTOR.name}"
            self._derails("config-field-twice", place, wrong, "keep one of the two")
            if path == ():
                self._again.append(place)
            self._damage(path, descriptor.name)
            return False
        oneof = descriptor.containing_oneof
        rival = message.WhichOneof(oneof.name) if oneof is not None else None
        if rival is not None:
            wrong = f"'{descriptor.name}' cannot be combined with '{rival}' in one {message.DESCRIPTOR.name}"
            self._fault("config-oneof-twice", place, wrong, "keep one of the two")
            self._damage(path, descriptor.name)
            self._damage(path, rival)
            return False
        return True


def is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def present(message: Message, descriptor: FieldDescriptor) -> bool:
    """As protobuf sees it: a field without presence counts as given when it differs from its default."""
    if descriptor.has_presence:
        return bool(message.HasField(descriptor.name))
    return bool(getattr(message, descriptor.name) != descriptor.default_value)
