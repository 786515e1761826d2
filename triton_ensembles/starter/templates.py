"""The files of templates/, with the name of the ensemble in them."""

import re
from collections.abc import Mapping
from pathlib import Path

from triton_ensembles.starter.names import module_name
from triton_ensembles.version import __version__

_TEMPLATES = Path(__file__).parent / "templates"
_NAME = "NAME"  # in the names of files
# A template that is called .gitignore or pyproject.toml would already be one.
_HIDDEN, _TEMPLATE = "dot_", ".template"
_PLACE = re.compile(r"@([A-Z]+)@")


def rendered(kind: str, name: str, values: Mapping[str, str] | None = None) -> dict[str, str]:
    """The texts of ``templates/KIND`` by their paths in a project.

    ``@NAME@`` in a text is the name of the ensemble, ``@VERSION@`` that of this package, and others are in ``values``.
    """
    known = {"NAME": name, "VERSION": __version__, **(values or {})}
    root = _TEMPLATES / kind
    return {
        _place(path.relative_to(root), name): _PLACE.sub(lambda found: known[found[1]], path.read_text("utf-8"))
        for path in sorted(root.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_of(name: str) -> str:
    """The path of the test of an ensemble in a project."""
    return f"tests/test_{module_name(name)}.py"


def _place(path: Path, name: str) -> str:
    if path.name == f"test_{_NAME}.py":
        return test_of(name)
    parts = [name if part == _NAME else part.removesuffix(_TEMPLATE) for part in path.parts]
    if path.stem == _NAME:
        parts[-1] = f"{name}{path.suffix}"
    return "/".join(f".{part.removeprefix(_HIDDEN)}" if part.startswith(_HIDDEN) else part for part in parts)
