"""What is special about a folder of ensembles/, the form that people write: all of that knowledge is here.

* Its DAG is in a folder called ``ensemble``; the build stages it under the name of the whole folder and gives every
  step a name of its own, so shared names do no harm here.
* ensemble.toml, the recipe, says which files the build makes (``[[artifacts]] path = "dali/1/model.dali"``) and into
  which steps it puts a packed environment (``[environments.x] steps = […]``): those are missing in git on purpose.
* The steps stand for the GPU target; the build rewrites ``instance_group`` and ``platform`` for the CPU.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

RECIPE = "ensemble.toml"
ENSEMBLE_FOLDER = "ensemble"


@dataclass(frozen=True)
class Recipe:
    """The part of ensemble.toml that the rules need. ``fault`` is (line, message) when it is no TOML."""

    made: frozenset[str] = frozenset()
    environment_steps: frozenset[str] = frozenset()
    fault: tuple[int, str] | None = None

    def versions_of(self, model: str) -> set[str]:
        """The version folders of ``model`` that the build puts a file into."""
        paths = [PurePosixPath(path).parts for path in self.made]
        return {parts[1] for parts in paths if len(parts) > 2 and parts[0] == model and parts[1].isdecimal()}

    def makes_version_of(self, model: str) -> bool:
        """Whether the build puts a file into a version folder of ``model``."""
        return bool(self.versions_of(model))

    def makes(self, path: str) -> bool:
        """Whether the build makes the file, or something in the folder, at ``path`` (``dali/1/model.dali``)."""
        return any(made == path or made.startswith(f"{path}/") for made in self.made)


def read_recipe(text: str) -> Recipe:
    """Whatever is no recipe yields an empty one; the build's own reader judges the rest."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        message = re.sub(r" \(at .*\)", "", str(error))
        return Recipe(fault=(int(line.group(1)) if line else text.count("\n") + 1, message))
    except RecursionError:
        return Recipe(fault=(1, "it is nested too deep"))
    artifacts = [item for item in _list(data.get("artifacts")) if isinstance(item, dict)]
    environments = data.get("environments")
    steps = [
        step
        for item in (environments.values() if isinstance(environments, dict) else ())
        if isinstance(item, dict)
        for step in _list(item.get("steps"))
    ]
    return Recipe(
        made=frozenset(item["path"] for item in artifacts if isinstance(item.get("path"), str)),
        environment_steps=frozenset(step for step in steps if isinstance(step, str)),
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
