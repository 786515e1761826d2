"""Reads recipes. Every fault is reported with its line."""

import os
import re
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import parse_toml, read_text
from triton_ensembles.ground.spelling import nearest
from triton_ensembles.ground.toml_tables import line_naming
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.project.recipe.schema import Recipe
from triton_ensembles.project.recipe.values import UnknownNameError
from triton_ensembles.version import __version__

_LONGEST = 1 << 18  # letters
_MOST_FAULTS = 50  # for each, its line is looked for
_WRONG_TYPES = {
    "string_type": ("this must be a text", 'write it in quotes: "…"'),
    "tuple_type": ("this must be a list", "write it in brackets: [ … ]"),
    "dict_type": ("this must be a table", "write it in braces, { … }, or below a line of its own in brackets"),
    "model_type": ("this must be a table", "write it in braces, { … }, or below a line of its own in brackets"),
    "int_type": ("this must be a whole number", "write it without quotes"),
}
"""The fault and its cure, by pydantic's names of wrong types."""


def read_recipe(folder: str | os.PathLike[str]) -> Recipe:
    """Read ``folder/ensemble.toml``. Raises :class:`EnsembleError`: it cannot be read, or is not a valid recipe."""
    path = Path(folder) / RECIPE
    return parse_recipe(read_text(path, _LONGEST), path)


def parse_recipe(text: str, path: Path) -> Recipe:
    """The recipe in ``text``; ``path`` is for messages only. Raises :class:`EnsembleError`: the first fault of
    :func:`recipe_and_faults`."""
    recipe, faults = recipe_and_faults(text, path)
    if recipe is None:
        raise faults[0]
    return recipe


def recipe_and_faults(text: str, path: Path) -> tuple[Recipe | None, list[EnsembleError]]:
    """The recipe in ``text`` if it is valid, or why not: it is not TOML, or has unknown keys, wrong values or unknown
    names. ``path`` is for messages only."""
    text = text.removeprefix("\ufeff")  # of some editors on Windows
    if "\0" in text:
        return None, [EnsembleError("this is not a text file in UTF-8", path=path, cure="save it as UTF-8")]
    if len(text) > _LONGEST:
        return None, [EnsembleError(f"this recipe is longer than {_LONGEST >> 10} KiB", path=path, cure="shorten it")]
    try:
        read = parse_toml(text, path)
        if fault := _other_version(read.get("requires"), text, path):
            return None, [fault]  # what it says besides may not be known here
        return Recipe.model_validate(read), []
    except EnsembleError as error:
        return None, [error]
    except ValidationError as error:
        return None, [_fault(detail, text, path) for detail in _causes(error.errors())[:_MOST_FAULTS]]
    except RecursionError:
        return None, [EnsembleError("this TOML is nested too deeply", path=path)]


def _other_version(required: object, text: str, path: Path) -> EnsembleError | None:
    """The fault of a recipe for other versions than this one; one that is no specifier is left to the schema."""
    try:
        if not isinstance(required, str) or SpecifierSet(required).contains(__version__, prereleases=True):
            return None
    except InvalidSpecifier:
        return None
    message = f"requires: this recipe is for triton-ensembles {required}, and this is {__version__}"
    cure = f"run: pip install --upgrade 'triton-ensembles{required}', or change requires"
    return EnsembleError(message, path=path, line=line_naming(text, ["requires"]), cure=cure)


def _causes(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """Without the required keys that are only missing because they are misspelled there, and the lists that are only
    too short because their items are wrong."""
    unknown = {error["loc"][:-1] for error in errors if error["type"] == "extra_forbidden"}
    inner = {error["loc"][:length] for error in errors for length in range(len(error["loc"]))}
    causes = [
        error
        for error in errors
        if not (error["type"] == "missing" and error["loc"][:-1] in unknown)
        and not (error["type"] == "too_short" and error["loc"] in inner)
    ]
    return sorted(causes, key=lambda error: error["type"] != "extra_forbidden")


def _fault(error: ErrorDetails, text: str, path: Path) -> EnsembleError:
    names = _keys_to(error)
    message, cure = error["msg"].removeprefix("Value error, "), ""
    if error["type"] == "extra_forbidden":
        meant = nearest(names[-1], _keys(Recipe))
        message = "unknown key" + (f"; did you mean {meant!r}?" if meant else "")
        newer = f"or upgrade triton-ensembles, if a version after {__version__} has it"
        cure = "" if meant else f"remove it, {newer}"
    elif error["type"] in _WRONG_TYPES:
        message, cure = _WRONG_TYPES[error["type"]]
    elif error["type"] == "literal_error":
        value, known = str(error["input"]), re.findall(r"'([^']+)'", message)
        meant = nearest(value, known) or next((name for name in known if value and name.startswith(value)), None)
        cure = f"did you mean {meant!r}?" if meant else ""
    elif error["type"] == "missing":
        message, cure = "this key is missing", f"add it. {_description(names)}".strip()
    elif error["type"] == "string_pattern_mismatch":
        message, cure = f"{str(error['input'])[:100]!r} does not have the form that is wanted here", _description(names)
    elif isinstance(unknown := error.get("ctx", {}).get("error"), UnknownNameError):
        cure = unknown.cure
    line = _line(error, text, names or re.findall(r"'([^']+)'", message))
    return EnsembleError(f"{'.'.join(names)}: {message}".removeprefix(": "), path=path, line=line, cure=cure)


def _line(error: ErrorDetails, text: str, names: list[str]) -> int | None:
    """The line with the last of ``names`` in the table that the fault is in, such as the second ``[[artifacts]]``."""
    table, item = (*error["loc"], "", "")[:2]
    number = item if isinstance(item, int) else 0
    header = rf"\[\[ *{table} *\]\]" if item == number else rf"\[ *{table} *\. *[\"']?{re.escape(str(item))}(?![\w-])"
    starts = [match.start() for match in re.finditer(header, text)] if item != "" else []
    start = starts[number] if number < len(starts) else 0
    line = line_naming(text[start:], names)
    return line and line + text.count("\n", 0, start)


def _keys_to(error: ErrorDetails) -> list[str]:
    """The keys that lead to the fault, as they are written: pydantic adds the kind of a place or an accuracy check."""
    keys = [str(part) for part in error["loc"]]
    for table, at, key in (("sources", 2, "from"), ("artifacts", 2, "accuracy")):
        if keys[0:1] == [table] and keys[at : at + 1] == [key]:
            kind = at + (2 if key == "from" else 1)
            return keys[:kind] + keys[kind + 1 :]
    return keys


def _keys(model: type[BaseModel]) -> set[str]:
    """Every key of the model, and of the models in it."""
    schema = model.model_json_schema()
    return {key for table in (schema, *schema.get("$defs", {}).values()) for key in table.get("properties", {})}


def _description(names: list[str]) -> str:
    """The description in the schema of the last of ``names`` that it has, of required keys first."""
    schema = Recipe.model_json_schema()
    models = (schema, *schema.get("$defs", {}).values())
    for name in reversed(names):
        having = [model for model in models if name in model.get("properties", {})]
        having.sort(key=lambda model: name not in model.get("required", ()))
        if having:
            text: str = having[0]["properties"][name].get("description", "")
            return " ".join(text.replace("``", "'").split()).partition(". ")[0].rstrip(".")
    return ""
