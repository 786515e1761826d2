"""The recipe of an ensemble, of which one file is a copy of a source."""

from collections.abc import Mapping

URL = 'url = "https://example.invalid/"'


def copy_recipe(
    path: str, more: str = "", *, place: str = URL, files: Mapping[str, str] = {"model.onnx": "0" * 64}
) -> str:
    """Write a recipe that copies the first of ``files``, whose sha256 are given, to ``path``; ``more`` is added to its
    artifact. The files are line 4."""
    listed = ", ".join(f'"{name}" = "{sha256}"' for name, sha256 in files.items())
    return f"""\
description = "An example"
[sources.mine]
from = [{{ {place} }}]
files = {{ {listed} }}
[[artifacts]]
path = "{path}"
maker = "copy"
source = "mine"
file = "{next(iter(files))}"
{more}"""
