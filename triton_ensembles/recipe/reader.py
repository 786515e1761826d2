"""Finds and reads recipes. Every fault is reported with its line."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ValidationError

from triton_ensembles.errors import EnsembleError
from triton_ensembles.recipe.schema import Recipe
from triton_ensembles.spelling import nearest

RECIPE = "ensemble.toml"


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
    try:
        return parse_recipe(path.read_text(encoding="utf-8"), path)
    except OSError as error:
        raise EnsembleError(f"the recipe cannot be read: {error.strerror}", path=path) from error
    except UnicodeDecodeError as error:
        raise EnsembleError("this is not a text file in UTF-8", path=path) from error


def parse_recipe(text: str, path: Path) -> Recipe:
    """The recipe in ``text``; ``path`` is for messages only.

    Raises:
        EnsembleError: it is not TOML, or has unknown keys, wrong values or unknown names.
    """
    try:
        return Recipe.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise EnsembleError(f"this is not TOML: {error}", path=path, line=line) from error
    except RecursionError as error:
        raise EnsembleError("this TOML is nested too deeply", path=path) from error
    except ValidationError as error:
        # A misspelled key is why a required one is missing.
        first = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
        names = [str(part) for part in first["loc"]]
        message = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            meant = nearest(names[-1], _keys(Recipe))
            message = "unknown key" + (f"; did you mean {meant!r}?" if meant else "")
        line_number = line_naming(text, names or re.findall(r"'([^']+)'", message))
        raise EnsembleError(f"{'.'.join(names)}: {message}".removeprefix(": "), path=path, line=line_number) from error


def _keys(model: type[BaseModel]) -> set[str]:
    """Every key of the model, and of the models in it."""
    schema = model.model_json_schema()
    return {key for each in (schema, *schema.get("$defs", {}).values()) for key in each.get("properties", {})}


def line_naming(text: str, names: list[str]) -> int | None:
    """The first line that contains the last of ``names`` that the text contains; TOML parsers keep no positions."""
    for name in reversed(names):
        for number, line in enumerate(text.splitlines(), start=1):
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line):
                return number
    return None
