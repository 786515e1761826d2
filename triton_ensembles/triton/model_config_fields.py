"""The meanings of the fields and values of config.pbtxt, from model_config_fields.csv."""

from functools import cache
from pathlib import Path

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor

from triton_ensembles.ground.files import table_rows

_TABLE = Path(__file__).with_suffix(".csv")
_TYPES = {FieldDescriptor.TYPE_STRING: "string", FieldDescriptor.TYPE_BOOL: "bool", FieldDescriptor.TYPE_FLOAT: "float"}


@cache
def meanings() -> dict[str, tuple[str, str]]:
    """Return (default, meaning) by ``ModelInput.dims`` and ``ModelInstanceGroup.Kind.KIND_GPU``; "" for no default."""
    return {row["field"]: (row["default"], row["meaning"]) for row in table_rows(_TABLE)}


def meaning_of_field(field: FieldDescriptor) -> str:
    """Return the meaning of a field, and its default, in one or two sentences; "" for the key or value of a map."""
    default, meaning = meanings().get(_key(field.full_name), ("", ""))
    return f"{meaning} Default: {default}." if default else meaning


def meaning_of_value(enum: EnumDescriptor, value: str) -> str:
    """Return the meaning of a value of an enum; "" for a type whose name says it all."""
    return meanings().get(f"{_key(enum.full_name)}.{value}", ("", ""))[1]


def type_of_field(field: FieldDescriptor) -> str:
    """Return the type as model_config.proto has it: ``repeated int64``, ``ModelInstanceGroup.Kind``."""
    named = field.message_type or field.enum_type
    integer = f"{'u' * (field.cpp_type in _UNSIGNED)}int{32 if field.cpp_type in _SHORT else 64}"
    name = _key(named.full_name) if named else _TYPES.get(field.type, integer)
    return f"repeated {name}" if field.is_repeated else name


_UNSIGNED = (FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64)
_SHORT = (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32)


def _key(full_name: str) -> str:
    return full_name.removeprefix("inference.")
