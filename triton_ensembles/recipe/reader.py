"""Finds and reads recipes. Every fault is reported with its line."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import read_text
from triton_ensembles.recipe.schema import Recipe, UnknownNameError
from triton_ensembles.spelling import nearest

RECIPE = "ensemble.toml"

_LONGEST = 1 << 18  # letters
_MOST_FAULTS = 50  # for each, its line is looked for
_DOTTED = re.compile(
    r"(?<![\w-])(?:[\w-]+[\"']?[ \t]*\.[ \t]*[\"']?){100}"
)  # the parser takes the square of their number


def find_ensembles(root: Path) -> Iterator[Path]:
    """The folders in ``root`` that contain a recipe, sorted by name."""
    for path in sorted(root.glob(f"*/{RECIPE}")):
        yield path.parent


def read_recipe(folder: Path) -> Recipe:
    """Read ``folder/ensemble.toml``.

    Raises:
        EnsembleError: it cannot be read, or is not a valid recipe.
    """
    path = folder / RECIPE
    return parse_recipe(read_text(path, _LONGEST), path)


def parse_recipe(text: str, path: Path) -> Recipe:
    """The recipe in ``text``; ``path`` is for messages only.

    Raises:
        EnsembleError: the first fault of :func:`recipe_and_faults`.
    """
    recipe, faults = recipe_and_faults(text, path)
    if recipe is None:
        raise faults[0]
    return recipe


def recipe_and_faults(text: str, path: Path) -> tuple[Recipe | None, list[EnsembleError]]:
    """The recipe in ``text`` if it is valid, or why not: it is not TOML, or has unknown keys, wrong values or unknown
    names. ``path`` is for messages only."""
    if len(text) > _LONGEST:
        return None, [EnsembleError(f"this recipe is longer than {_LONGEST >> 10} KiB", path=path, cure="shorten it")]
    if _DOTTED.search(text):
        return None, [EnsembleError("a key of this TOML has more than 100 parts", path=path, cure="correct the key")]
    try:
        return Recipe.model_validate(tomllib.loads(text)), []
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        return None, [EnsembleError(f"this is not TOML: {error}", path=path, line=line)]
    except RecursionError:
        return None, [EnsembleError("this TOML is nested too deeply", path=path)]
    except ValidationError as error:
        return None, [_fault(each, text, path) for each in _causes(error.errors())[:_MOST_FAULTS]]
    except ValueError as error:  # a number of thousands of digits
        return None, [EnsembleError(f"this TOML cannot be read: {error}", path=path)]


def _causes(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """Without the required keys that are only missing because they are misspelled there, and the lists that are only
    too short because their items are wrong."""
    unknown = {each["loc"][:-1] for each in errors if each["type"] == "extra_forbidden"}
    inner = {each["loc"][:length] for each in errors for length in range(len(each["loc"]))}
    causes = [
        each
        for each in errors
        if not (each["type"] == "missing" and each["loc"][:-1] in unknown)
        and not (each["type"] == "too_short" and each["loc"] in inner)
    ]
    return sorted(causes, key=lambda each: each["type"] != "extra_forbidden")


def _fault(error: ErrorDetails, text: str, path: Path) -> EnsembleError:
    names = [str(part) for part in error["loc"]]
    message, cure = error["msg"].removeprefix("Value error, "), ""
    if error["type"] == "extra_forbidden":
        meant = nearest(names[-1], _keys(Recipe))
        message = "unknown key" + (f"; did you mean {meant!r}?" if meant else "")
    elif error["type"] == "literal_error":
        given, known = str(error["input"]), re.findall(r"'([^']+)'", message)
        meant = nearest(given, known) or next((name for name in known if given and name.startswith(given)), None)
        cure = f"did you mean {meant!r}?" if meant else ""
    elif error["type"] == "missing":
        message, cure = "this key is missing", f"add it. {_description(names)}".strip()
    elif error["type"] == "string_pattern_mismatch":
        message, cure = f"{str(error['input'])[:100]!r} does not have the form that is wanted here", _description(names)
    elif isinstance(unknown := error.get("ctx", {}).get("error"), UnknownNameError):
        cure = unknown.cure
    line = line_naming(text, names or re.findall(r"'([^']+)'", message))
    return EnsembleError(f"{'.'.join(names)}: {message}".removeprefix(": "), path=path, line=line, cure=cure)


def _keys(model: type[BaseModel]) -> set[str]:
    """Every key of the model, and of the models in it."""
    schema = model.model_json_schema()
    return {key for each in (schema, *schema.get("$defs", {}).values()) for key in each.get("properties", {})}


def _description(names: list[str]) -> str:
    """What the schema says of the last of ``names`` that it has, of required keys first."""
    schema = Recipe.model_json_schema()
    models = (schema, *schema.get("$defs", {}).values())
    for name in reversed(names):
        having = [each for each in models if name in each.get("properties", {})]
        having.sort(key=lambda each: name not in each.get("required", ()))
        if having:
            text: str = having[0]["properties"][name].get("description", "")
            return " ".join(text.replace("``", "'").split()).rstrip(".")
    return ""


def line_naming(text: str, names: list[str]) -> int | None:
    """The first line that contains the last of ``names`` that the text contains; TOML parsers keep no positions."""
    for name in reversed(names):
        for number, line in enumerate(text.splitlines(), start=1):
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line):
                return number
    return None
