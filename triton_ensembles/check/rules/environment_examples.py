"""Small unpacked environments for the rules' examples: since 23.07 Triton accepts a folder as well as a .tar.gz."""

from __future__ import annotations

from triton_ensembles.check.environments import MODEL_FOLDER, PARAMETER
from triton_ensembles.check.examples import IDENTITY, parameter, python_model
from triton_ensembles.check.rule import Example

CONFIG = python_model(parameter(PARAMETER, f"{MODEL_FOLDER}/env"))


def with_environment(
    python: str = "3.10", site: dict[str, str] | None = None, imports: str = "", library: bool = True
) -> Example:
    """A Python model with an environment of ``python`` in its folder; ``site`` is the content of site-packages."""
    folder = f"env/lib/python{python}"
    files: dict[str, str | None] = {"1/model.py": imports + IDENTITY, "env/bin/activate": ""}
    files |= {f"{folder}/os.py": "", f"{folder}/json/__init__.py": ""} if library else {f"{folder}/site.txt": ""}
    files |= {f"{folder}/site-packages/{path}": text for path, text in (site or {}).items()}
    return Example(CONFIG, files)
