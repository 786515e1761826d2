"""hypothesis strategies: arbitrary ModelConfigs, and texts that are almost a config.pbtxt."""

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st

from triton_ensembles.triton.model_config import ModelConfig

_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: st.integers(0, 2**64 - 1),
}


@st.composite
def messages(draw: st.DrawFn, descriptor: Descriptor = ModelConfig.DESCRIPTOR, most: int = 6) -> Message:
    """A message with a few of its fields set, each to any value of its type."""
    message: Any = GetMessageClass(descriptor)()
    if not descriptor.fields:
        return message
    fields = st.lists(st.sampled_from(list(descriptor.fields)), max_size=most, unique_by=lambda field: field.name)
    for field in draw(fields):
        _fill(draw, message, field, max(1, most - 2))
    return message


def _fill(draw: st.DrawFn, message: Any, field: FieldDescriptor, most: int) -> None:
    target = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        for _ in range(draw(st.integers(0, 2))):
            if value.message_type is not None:
                target[draw(_scalar(key))].CopyFrom(draw(messages(value.message_type, most)))
            else:
                target[draw(_scalar(key))] = draw(_scalar(value))
    elif field.message_type is not None and field.is_repeated:
        target.extend(draw(st.lists(messages(field.message_type, most), max_size=2)))
    elif field.message_type is not None:
        target.CopyFrom(draw(messages(field.message_type, most)))
        target.SetInParent()
    elif field.is_repeated:
        target.extend(draw(st.lists(_scalar(field), max_size=3)))
    else:
        setattr(message, field.name, draw(_scalar(field)))


def _scalar(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if field.cpp_type in _INTEGERS:
        return _INTEGERS[field.cpp_type]
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        return st.sampled_from([value.number for value in field.enum_type.values])
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return st.booleans()
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return st.one_of(st.text(max_size=8), st.lists(_SIGNS, max_size=4).map("".join))
    return st.floats(width=32, allow_nan=False)


# What means something outside of strings, to protobuf or to who wrote a template.
_SIGNS = st.sampled_from(
    ["#", '"', "'", "{", "}", "[", "]", "<", ">", ",", ";", ":", "\\", " ", "x", "TYPE_", "//", "{#", "#}", "%", "$"]
)
COMMENTS = st.sampled_from(
    ["", "\n", "# x", '# 5"', "# don't", "#x, 8 ]", "# [ #x ]", "# TYPE_#x", "# }", "# ${x}", "#}", "# {{ x }} #}",
     "#%x%", "\n# <<<<<<<", "# ```", "\n# - name: x", "\n#[x]"]
)  # fmt: skip


@st.composite
def commented(draw: st.DrawFn, text: str) -> str:
    """``text``, as ``text_format`` prints it over several lines, with comments at the ends of lines."""
    return "".join(f"{line}{draw(COMMENTS)}\n" for line in text.split("\n"))


# What people and programs do to a text, piece by piece.
PIECES = st.sampled_from(
    ["{", "}", "[", "]", "<", ">", ":", ",", ";", "-", '"', "'", "\\", "#", "\n", " ", "0", "8", "08", "0x1f", "1.5",
     "1e3", "2f", "true", "TYPE_FP32", "input", "dims", "name", "max_batch_size", "dynamic_batching", "// x", "é"]
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, text: str, most: int = 4) -> str:
    """``text`` with a few pieces deleted, doubled, put in or exchanged."""
    for _ in range(draw(st.integers(1, most))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        piece = draw(st.one_of(st.just(""), PIECES, st.just(text[start:end] * 2), st.text(max_size=3)))
        text = text[:start] + piece + text[end:]
    return text


@st.composite
def changed(draw: st.DrawFn, config: Message, most: int = 3) -> Message:
    """A copy of ``config`` with a few of its parts deleted, doubled or given another value."""
    copy: Any = type(config)()
    copy.CopyFrom(config)
    known = sorted(set(words(copy)))
    for _ in range(draw(st.integers(1, most))):
        parts = list(_parts(copy))
        if parts:
            _change(draw, *draw(st.sampled_from(parts)), known)
    return copy


def _parts(message: Any) -> Iterator[tuple[Any, FieldDescriptor, Any]]:
    """(message, field, index or key or None) of everything that is set, and of everything that could be."""
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            for key in list(value):
                yield message, field, key
                if field.message_type.fields_by_name["value"].message_type is not None:
                    yield from _parts(value[key])
        elif field.is_repeated:
            for index, item in enumerate(value):
                yield message, field, index
                if field.message_type is not None:
                    yield from _parts(item)
        elif field.has_presence and not message.HasField(field.name):
            continue
        else:
            yield message, field, None
            if field.message_type is not None:
                yield from _parts(value)


def words(message: Any) -> Iterator[str]:
    for part, field, key in _parts(message):
        if isinstance(key, str):
            yield key
        elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING and getattr(part, field.name):
            value = getattr(part, field.name)
            yield from [value] if isinstance(value, str) else value


def _change(draw: st.DrawFn, message: Any, field: FieldDescriptor, key: Any, words: list[str]) -> None:
    value = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        item = value.pop(key)
        if isinstance(key, str) and draw(st.booleans()):
            other = draw(st.sampled_from(words))
            if isinstance(item, str):
                value[other] = draw(st.sampled_from([item, *words]))
            else:
                value[other].CopyFrom(item)
    elif field.is_repeated:
        if draw(st.booleans()):
            del value[key]
        elif field.message_type is not None:
            value.add().CopyFrom(value[key])
        else:
            value[key] = draw(_near(field, words))
    elif field.message_type is not None:
        message.ClearField(field.name)
    else:
        setattr(message, field.name, draw(_near(field, words)))


def _near(field: FieldDescriptor, words: list[str]) -> st.SearchStrategy[Any]:
    """Values that are likely to matter."""
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return st.sampled_from(words)
    if field.cpp_type in (FieldDescriptor.CPPTYPE_ENUM, FieldDescriptor.CPPTYPE_BOOL):
        return _scalar(field)
    if field.cpp_type in _INTEGERS:
        low = -1 if field.cpp_type in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64) else 0
        return st.sampled_from([*range(low, 10), 16])
    return st.sampled_from([0.0, 0.5, 1.0, 2.0])
