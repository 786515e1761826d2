"""Explanations that an editor shows beside the pointer, as Markdown."""

from triton_ensembles.checking.explanation import explain
from triton_ensembles.checking.repository import Model
from triton_ensembles.checking.text.tokens import Kind
from triton_ensembles.editing.cursor import Cursor
from triton_ensembles.editing.names import Meant, described, place_of
from triton_ensembles.triton.model_config_fields import meaning_of_field, meaning_of_value, type_of_field


def of_cursor(cursor: Cursor) -> str:
    """Return what the field or the value at ``cursor`` means; "" where nothing is known."""
    if cursor.field and cursor.field.enum_type:
        value = cursor.text
        is_known = value in cursor.field.enum_type.values_by_name
        return f"`{value}`: {meaning_of_value(cursor.field.enum_type, value)}".removesuffix(": ") if is_known else ""
    field = cursor.field or cursor.message.fields_by_name.get(cursor.text)
    if not field or not cursor.token or cursor.token.kind is not Kind.NAME:
        return ""
    return f"`{field.name}`: {type_of_field(field)}\n\n{meaning_of_field(field)}".rstrip()


def of_rule(id: str) -> str:
    """Return the explanation of a rule, as ``check --explain`` prints it."""
    return f"```text\n{explain(id)}\n```"


def of_name(named: Meant) -> str:
    """Return what a model or a tensor is."""
    return _of_tensor(named.model, named.tensor) if named.tensor else _of_model(named.model)


def _of_model(model: Model) -> str:
    config = model.file.config
    lines = [f"`{model.folder}`: {config.backend or config.platform or 'a model'}"]
    for kind, tensors in (("input", config.input), ("output", config.output)):
        lines += [f"- {kind} `{name}`: {about}" for name, about in described(tensors).items()]
    return "\n".join(lines)


def _of_tensor(model: Model, name: str) -> str:
    for kind in ("input", "output"):
        if about := described(getattr(model.file.config, kind)).get(name):
            return f"{kind} `{name}` of `{model.folder}`: {about}"
    is_named = place_of(Meant(model, name))
    return f"tensor `{name}` between the steps of `{model.folder}`" if is_named else ""
