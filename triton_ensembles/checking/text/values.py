"""A scalar of protobuf text format as a Python value, by the rules of protobuf's C++ parser (text_format.cc).

Each function returns the value or raises :class:`WrongValueError`, which may carry what was probably meant, so that the
rest of the checks can go on with it.
"""

import difflib
import re
from collections.abc import Collection, Sequence
from typing import Any

from google.protobuf import text_encoding
from google.protobuf.descriptor import FieldDescriptor

from triton_ensembles.checking.text.tokens import Kind, Token
from triton_ensembles.ground.spelling import choices, nearest

_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
_FLOATS = (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE)
NUMBERS = (*_RANGES, *_FLOATS)
_BOOLS = {"true": True, "True": True, "t": True, "false": False, "False": False, "f": False}
_NOT_FINITE = re.compile(r"(?:inf|infinity|nan)\Z", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(?:[abfnrtv\\?'\"]|[0-7]{1,3}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U00[01][0-9a-fA-F]{5})")
# Of other formats (KServe v2, ONNX, NumPy, TensorFlow, C) for the names of Triton.
_SYNONYMS = {
    "BYTES": "STRING", "STR": "STRING", "TEXT": "STRING", "OBJECT": "STRING", "CHAR": "STRING", "UTF8": "STRING",
    "FLOAT": "FP32", "FLOAT32": "FP32", "F32": "FP32", "SINGLE": "FP32", "REAL": "FP32",
    "DOUBLE": "FP64", "FLOAT64": "FP64", "F64": "FP64", "HALF": "FP16", "FLOAT16": "FP16", "F16": "FP16",
    "BFLOAT16": "BF16", "BFLOAT": "BF16", "BOOLEAN": "BOOL", "I32": "INT32",
    "LONG": "INT64", "I64": "INT64", "SHORT": "INT16", "BYTE": "UINT8", "UBYTE": "UINT8", "U8": "UINT8",
    "UCHAR": "UINT8", "CUDA": "GPU",
}  # fmt: skip
_PERHAPS = {"INT": "INT32", "INTEGER": "INT32", "UINT": "UINT32", "TEXT": "STRING"}
_FROM_LIBRARY = re.compile(r"(?:TYPE|DT|ONNX|TENSOR|NP|NUMPY|TORCH|TF|KIND)[_.]")
_CLEAR = 0.1  # by which the nearest name is nearer than all others
NOTHING: Any = object()


class WrongValueError(Exception):
    """``rule`` is the id to report; ``meant`` the likely value, or :data:`NOTHING`.

    ``swallowed``: an open string may have taken fields or brackets with it. ``write``: the text that is exactly what
    was meant, "" when there is none.
    """

    def __init__(
        self, rule: str, message: str, cure: str = "", meant: Any = NOTHING, swallowed: bool = False, write: str = ""
    ) -> None:
        super().__init__(message)
        self.rule, self.message, self.cure, self.meant, self.swallowed = rule, message, cure, meant, swallowed
        self.write = write


def read_value(field: FieldDescriptor, minus: bool, tokens: Sequence[Token]) -> Any:
    """The value of ``tokens`` (several only when strings follow each other) for the scalar ``field``."""
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return _string(field, minus, tokens)
    token = tokens[0]
    if len(tokens) == 1 and token.kind in (Kind.STRING, Kind.BAD_STRING):
        return _unquoted(field, token)
    if len(tokens) > 1:
        raise WrongValueError("config-wrong-type", f"'{field.name}' takes {_wanted(field)}, not a string")
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        return _enum(field, minus, token)
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return _bool(field, minus, token)
    if field.cpp_type in _FLOATS:
        return _float(field, minus, token)
    return _integer(field, minus, token)


def _wanted(field: FieldDescriptor) -> str:
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        return f"one of {choices(field.enum_type.values_by_name)}"
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return "true or false"
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return "a string in double quotes"
    if field.cpp_type in _FLOATS:
        return "a number"
    return "an integer" if _RANGES[field.cpp_type][0] else "an integer that is not negative"


def _wrong(field: FieldDescriptor, written: str, meant: Any = NOTHING, write: str = "") -> WrongValueError:
    cure = f"write {field.name}: {write}" if write else f"write {_wanted(field)}"
    message = f"'{field.name}' takes {_wanted(field)}, not {written[:60]}"
    return WrongValueError("config-wrong-type", message, cure, meant, write=write)


def _unquoted(field: FieldDescriptor, token: Token) -> Any:
    """Somebody wrote ``"8"`` or ``"KIND_GPU"``: quotes are only for strings."""
    inner = token.text.strip("\"'")
    kind = Kind.NAME if re.fullmatch(r"[A-Za-z_]\w*", inner) else Kind.INTEGER if inner.isdecimal() else Kind.JUNK
    meant = NOTHING
    try:
        meant = read_value(field, False, [Token(kind, inner, token.offset)])
    except WrongValueError as error:
        meant = error.meant
    raise _wrong(field, token.text, meant, inner if meant is not NOTHING else "")


def _integer(field: FieldDescriptor, minus: bool, token: Token) -> int:
    sign = "-" if minus else ""
    if token.kind is not Kind.INTEGER:
        whole = float(token.text.rstrip("fF")) if token.kind is Kind.FLOAT and len(token.text) < 30 else 0.5
        meant: Any = int(whole) * (-1 if minus else 1) if whole == int(min(whole, 1e18)) else NOTHING
        if meant is not NOTHING and not _in_range(field, meant):
            meant = NOTHING
        raise _wrong(field, sign + token.text, meant, "" if meant is NOTHING else str(meant))
    value = whole_number(token.text) * (-1 if minus else 1)
    if not _in_range(field, value) or (minus and _RANGES[field.cpp_type][0] == 0):
        low, high = _RANGES[field.cpp_type]
        message = f"{sign}{token.text[:40]} does not fit into '{field.name}'"
        raise WrongValueError("config-wrong-type", message, f"write a number from {low} to {high}")
    return value


def whole_number(text: str) -> int:
    """Hexadecimal after ``0x``, octal after ``0``, as in C. Absurdly long numbers fit nowhere and are not converted."""
    if len(text) > 40:
        return 2**70
    if text[:2] in ("0x", "0X"):
        return int(text, 16)
    return int(text, 8) if text.startswith("0") else int(text)


def _in_range(field: FieldDescriptor, value: int) -> bool:
    low, high = _RANGES[field.cpp_type]
    return bool(low <= value <= high)


def _float(field: FieldDescriptor, minus: bool, token: Token) -> float:
    text = token.text.lower()
    decimal = token.kind is Kind.INTEGER and (text == "0" or not text.startswith("0"))
    if token.kind is Kind.FLOAT or decimal or (token.kind is Kind.NAME and _NOT_FINITE.match(text)):
        value = float(text if token.kind is Kind.NAME else text.rstrip("f"))
        return -value if minus else value
    raise _wrong(field, ("-" if minus else "") + token.text)


def _bool(field: FieldDescriptor, minus: bool, token: Token) -> bool:
    if not minus and token.kind is Kind.NAME and token.text in _BOOLS:
        return _BOOLS[token.text]
    if not minus and token.kind is Kind.INTEGER and whole_number(token.text) in (0, 1):
        return bool(whole_number(token.text))
    meant = _BOOLS.get(token.text.lower(), NOTHING)
    raise _wrong(field, token.text, meant, "" if meant is NOTHING else str(meant).lower())


def _enum(field: FieldDescriptor, minus: bool, token: Token) -> int:
    if token.kind is Kind.INTEGER:  # enums of proto3 are open: any number of 32 bits goes
        value = whole_number(token.text) * (-1 if minus else 1)
        if -(2**31) <= value < 2**31:
            return value
    names = field.enum_type.values_by_name
    if token.kind is not Kind.NAME or minus:
        raise _wrong(field, ("-" if minus else "") + token.text)
    if token.text in names:
        return int(names[token.text].number)
    # People write FP32 or GPU for TYPE_FP32 and KIND_GPU: also compare without the prefix that all names share.
    certain = _meant_name(token.text, names)
    guess = certain or _likely_name(token.text, names)
    message = f"'{token.text[:60]}' is not a valid value of '{field.name}'"
    cure = f"did you mean {field.name}: {guess}?" if guess else f"write {_wanted(field)}"
    meant = int(names[certain].number) if certain else NOTHING
    raise WrongValueError("config-unknown-enum", message, cure, meant, write=certain or "")


def _likely_name(word: str, names: Collection[str]) -> str | None:
    """The name to propose for ``word``, which may be wrong."""
    ending = _PERHAPS.get(_FROM_LIBRARY.sub("", word.upper()))
    perhaps = [name for name in names if ending and name.endswith(f"_{ending}")]
    return _meant_name(word, names) or (perhaps[0] if perhaps else nearest(word, names))


def _meant_name(word: str, names: Collection[str]) -> str | None:
    """The name that ``word`` stands for without doubt: another spelling, or so near that no other comes close."""
    short = {name.partition("_")[2].upper(): name for name in names if "_" in name}
    upper = word.upper()
    if upper in names:
        return upper
    bare = _FROM_LIBRARY.sub("", upper)
    meant = short.get(bare) or short.get(_SYNONYMS.get(bare, ""))
    if meant or len(word) > 40:
        return meant
    scores = sorted(((difflib.SequenceMatcher(None, upper, name).ratio(), name) for name in names), reverse=True)
    (first, name), (second, _) = [*scores, (0.0, ""), (0.0, "")][:2]
    return name if first >= 0.85 and first - second >= _CLEAR else None


def _string(field: FieldDescriptor, minus: bool, tokens: Sequence[Token]) -> str | bytes:
    token = tokens[0]
    if minus or token.kind not in (Kind.STRING, Kind.BAD_STRING):
        shown = ("-" if minus else "") + token.text
        bare = shown.strip("\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb")  # typographic quotes
        plain = bare if re.fullmatch(r"[A-Za-z_./-][\w./$-]*", bare) else NOTHING
        raise _wrong(field, shown, plain, f'"{plain}"' if plain is not NOTHING else "")
    parts: list[bytes] = []
    for part in tokens:
        if part.kind is Kind.BAD_STRING:
            inner = part.text[1:].strip().rstrip(",").strip()
            plain = re.fullmatch(r"[\w./$-]*", inner) is not None
            message = f"the string {part.text.strip()[:60]} is not closed on its line"
            cure = f'write {field.name}: "{inner}"' if plain else "close the quotes"
            raise WrongValueError("config-bad-string", message, cure, inner if plain else NOTHING, swallowed=not plain)
        parts.append(_unescape(field, part.text[1:-1]))
    value = b"".join(parts)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        message = f"the text of '{field.name}' is not UTF-8"
        cure = "write it in UTF-8"
        raise WrongValueError("config-not-utf8", message, cure, value.decode("utf-8", "replace")) from None


def _unescape(field: FieldDescriptor, inner: str) -> bytes:
    position = inner.find("\\")
    while position >= 0:
        match = _ESCAPE.match(inner, position)
        if match is None:
            message = f"'{inner[position : position + 2]}' is not a valid escape sequence in the text of '{field.name}'"
            raise WrongValueError("config-bad-string", message, "write a backslash as \\\\", inner)
        position = inner.find("\\", match.end())
    try:
        # \\? is an escape of C that Python warns of.
        return bytes(text_encoding.CUnescape(_ESCAPE.sub(lambda match: match[0].replace("\\?", "?"), inner)))
    except ValueError:  # \U with a number that Unicode does not have
        message = f"an escape sequence in '{field.name}' is not a valid character"
        raise WrongValueError("config-not-utf8", message, "write another one", inner) from None
