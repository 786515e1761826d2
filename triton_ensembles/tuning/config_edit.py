"""Sets fields of a config.pbtxt in its text: everything else, comments too, stays as it is, byte for byte."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from triton_ensembles.errors import EnsembleError
from triton_ensembles.triton.model_config import ModelConfig, parse_config
from triton_ensembles.tuning.config_spans import Block, Field, spans

FieldPath = tuple[str | int, ...]
"""Names of fields and, after a repeated one, the index, after a map the key: ``("instance_group", 0, "count")``,
``("parameters", "num_threads", "string_value")``."""
Scalar = str | int | tuple[int, ...]
_ENUMS = ("kind",)
_MAP = "parameters"


def edit_config(text: str, path: Path, values: Mapping[FieldPath, Scalar]) -> str:
    """The text with each field at its value; a message that is missing is written at the end.

    Raises:
        EnsembleError: the text is not valid, or says a field in a way that cannot be edited; it names the file.
    """
    before = parse_config(text, path)
    for field, value in values.items():
        wanted = ModelConfig()
        wanted.CopyFrom(before)
        _assign(wanted, field, value)
        if wanted == before:
            continue
        text = _with_field(text, spans(text), field, value)
        try:
            before = parse_config(text, path)
        except EnsembleError:
            before = ModelConfig()
        if before != wanted:
            name = ".".join(map(str, field))
            raise EnsembleError(f"{name} cannot be set to {value} in this text", path=path, cure="write it by hand")
    return text


def _assign(message: Message, path: FieldPath, value: Scalar) -> None:
    owner: Any = message
    for part in path[:-1]:
        if isinstance(part, int):
            owner = owner[part] if part < len(owner) else owner.add()
        elif not hasattr(owner, "DESCRIPTOR"):  # a map
            owner = owner[part]
        else:
            owner = getattr(owner, part)
    name = str(path[-1])
    if isinstance(value, tuple):
        del getattr(owner, name)[:]
        getattr(owner, name).extend(value)
    else:
        enum = owner.DESCRIPTOR.fields_by_name[name].enum_type
        setattr(owner, name, enum.values_by_name[value].number if enum else value)


def _with_field(text: str, block: Block, path: FieldPath, value: Scalar) -> str:
    """``text`` with the field at ``path`` inside ``block`` set."""
    name, rest = str(path[0]), path[1:]
    if name == _MAP:
        return _with_parameter(text, block, str(rest[0]), rest[1:], value)
    index = rest[0] if rest and isinstance(rest[0], int) else 0
    rest = rest[1:] if rest and isinstance(rest[0], int) else rest
    there = block.named(name)
    if not rest and there:
        return _replaced(text, there, value)
    if rest and index < len(there) and (inner := there[index].block):
        return _with_field(text, inner, rest, value)
    return _inserted(text, block, _written(path, value))


def _with_parameter(text: str, block: Block, key: str, path: FieldPath, value: Scalar) -> str:
    for entry in block.named(_MAP):
        keys = entry.block.named("key") if entry.block else []
        if keys and text[keys[-1].start + 1 : keys[-1].end - 1] == key:
            assert entry.block is not None
            return _with_field(text, entry.block, ("value", *path), value)
    inner = [f"  {line}" for line in (f"key: {_scalar('key', key)}", *_written(("value", *path), value))]
    return _inserted(text, block, [f"{_MAP} {{", *inner, "}"])


def _replaced(text: str, fields: list[Field], value: Scalar) -> str:
    if not isinstance(value, tuple):
        last = fields[-1]  # the last one counts
        return text[: last.start] + _scalar(fields[0].name, value) + text[last.end :]
    for field in fields[:0:-1]:
        if field.outer != fields[0].outer:
            text = text[: field.outer[0]] + text[field.outer[1] :]
    start, end = fields[0].outer
    return text[:start] + f"{fields[0].name}: {_scalar(fields[0].name, value)}" + text[end:]


def _written(path: FieldPath, value: Scalar) -> list[str]:
    """The lines that set a field and the messages around it."""
    if len(path) == 1:
        return [f"{path[0]}: {_scalar(str(path[0]), value)}"]
    if isinstance(path[1], int):
        inner = [f"    {line}" for line in _written(path[2:], value)]
        return [f"{path[0]} [", "  {", *inner, "  }", "]"]
    return [f"{path[0]} {{", *(f"  {line}" for line in _written(path[1:], value)), "}"]


def _scalar(name: str, value: Scalar) -> str:
    if isinstance(value, tuple):
        return f"[ {', '.join(map(str, value))} ]"
    if isinstance(value, str) and name not in _ENUMS:
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)


def _inserted(text: str, block: Block, lines: list[str]) -> str:
    """``text`` with ``lines`` at the end of ``block``, in the form that the block has."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if block.end == len(text) and block.start == 0:  # the whole file
        gap = "" if not text or text.endswith("\n") else newline
        return text + gap + "".join(line + newline for line in lines)
    line_start = text.rfind("\n", 0, block.end) + 1
    indent = text[line_start : block.end]
    if line_start > block.start and not indent.strip():
        made = "".join(f"{indent}  {line}{newline}" for line in lines)
        return text[:line_start] + made + text[line_start:]
    inside = text[block.start : block.end].rstrip()
    return f"{text[: block.start]}{inside} {' '.join(lines)} {text[block.end :]}"
