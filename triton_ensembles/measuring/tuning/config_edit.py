"""Sets fields of a config.pbtxt in its text: everything else, comments too, stays as it is, byte for byte."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from triton_ensembles.checking.text.parser import parse
from triton_ensembles.checking.text.tokens import PAIRS, Kind, Tokens
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.model_config import ModelConfig, parse_config

FieldPath = tuple[str | int, ...]
"""Names of fields and, after a repeated one, the index, after a map the key: ``("instance_group", 0, "count")``,
``("parameters", "num_threads", "value", "string_value")``."""
Scalar = str | int
_MAP = "parameters"


def edit_config(text: str, path: Path, values: Mapping[FieldPath, Scalar]) -> str:
    """The text with each field at its value; a message that is missing is written at the end.

    Raises:
        EnsembleError: the text is not valid, or says a field in a way that cannot be edited; it names the file.
    """
    config = parse_config(text, path)
    for field, value in values.items():
        edited = ModelConfig()
        edited.CopyFrom(config)
        _assign(edited, field, value)
        if edited == config:
            continue
        text = _with_field(text, field, value)
        try:
            config = parse_config(text, path)
        except EnsembleError:
            config = ModelConfig()
        if config != edited:
            name = ".".join(map(str, field))
            raise EnsembleError(f"{name} cannot be set to {value} in this text", path=path, cure="write it by hand")
    return text


def _assign(message: Message, path: FieldPath, value: Scalar) -> None:
    owner: Any = message
    for part in path[:-1]:
        if isinstance(part, int):
            owner = owner[part] if part < len(owner) else owner.add()
        elif not hasattr(owner, "DESCRIPTOR"):  # a map, whose entries are its values
            owner = owner[part]
        elif not (part == "value" and path[0] == _MAP):
            owner = getattr(owner, part)
    setattr(owner, str(path[-1]), value)


def _with_field(text: str, path: FieldPath, value: Scalar) -> str:
    offsets = parse(text, ModelConfig()).offsets
    if path in offsets:
        start, end = _value_span(text, offsets[path])
        return text[:start] + _scalar(value) + text[end:]
    for length in range(len(path) - 1, 0, -1):
        is_message = path[:length] != (_MAP,) and not isinstance(path[length], int)
        if is_message and path[:length] in offsets:
            start, end = _value_span(text, offsets[path[:length]])
            return _inserted(text, start + 1, end - 1, _lines(path[length:], value))
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith("\n") else newline
    return text + gap + "".join(line + newline for line in _lines(path, value))


def _value_span(text: str, offset: int) -> tuple[int, int]:
    """The first character of the value at ``offset``, or of the field there, and the place after the last one."""
    tokens = Tokens(text)
    tokens.go_to(offset)
    if tokens.now.kind is Kind.NAME and tokens.next_is(":", *PAIRS):
        tokens.take()
        tokens.take_mark(":")
    start, depth = tokens.now.offset, 0
    while not tokens.ended:
        depth += tokens.at(*PAIRS) - tokens.at(*PAIRS.values())
        token = tokens.take()
        joined = token.kind is tokens.now.kind is Kind.STRING
        if depth == 0 and token.text != "-" and not joined:
            return start, token.offset + len(token.text)
    return start, len(text)


def _lines(path: FieldPath, value: Scalar) -> list[str]:
    """The lines that set a field and the messages around it."""
    if len(path) == 1:
        return [f"{path[0]}: {_scalar(value)}"]
    if isinstance(path[1], int):
        return [f"{path[0]} [", "  {", *(f"    {line}" for line in _lines(path[2:], value)), "  }", "]"]
    entry = path[0] == _MAP
    inner = [f"key: {_scalar(path[1])}", *_lines(path[2:], value)] if entry else _lines(path[1:], value)
    return [f"{path[0]} {{", *(f"  {line}" for line in inner), "}"]


def _scalar(value: Scalar) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)


def _inserted(text: str, start: int, end: int, lines: list[str]) -> str:
    """``text`` with ``lines`` at the end of what is between two brackets, in the form that this has."""
    line_start = text.rfind("\n", 0, end) + 1
    indent = text[line_start:end]
    if line_start > start and not indent.strip():
        newline = "\r\n" if "\r\n" in text else "\n"
        return text[:line_start] + "".join(f"{indent}  {line}{newline}" for line in lines) + text[line_start:]
    return f"{text[:start]}{text[start:end].rstrip()} {' '.join(lines)} {text[end:]}"
