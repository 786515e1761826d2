"""The templates of this room."""

from pathlib import Path
from typing import Any

import jinja2

from triton_ensembles.version import __version__


def filled(template: str, command: str, **values: Any) -> str:
    """Fill in the template; its first line says which ``command`` wrote it."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    known = jinja2.Environment(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    written_by = f"Written by triton-ensembles {__version__}: {command}"
    return known.get_template(template).render(written_by=written_by, **values)
