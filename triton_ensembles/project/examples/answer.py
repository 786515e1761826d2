"""An answer as lines for people: by the ensemble's show.py, or name, dtype, shape and first values."""

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tritonclient.http as http

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.examples.request import Array, Request

SHOW = "show.py"
_MOST_LINES = 10
_MOST_VALUES = 5


def answer_lines(result: http.InferResult, request: Request | None = None) -> list[str]:
    """The outputs of ``result``, the answer to ``request`` if that is an example. Raises :class:`EnsembleError`: the
    show.py beside the request fails."""
    described = result.get_response().get("outputs", [])
    arrays = {output["name"]: result.as_numpy(output["name"]) for output in described}
    show = request.path.with_name(SHOW) if request else None
    heads = {output["name"]: f"{output['name']} {output['datatype']} {output['shape']}" for output in described}
    if request and show and show.is_file():
        return [*heads.values(), *(f"  {line}" for line in _shown(show, request, arrays))]
    lines = []
    for name, values in arrays.items():
        classes = bool(request and request.outputs.get(name))
        lines += [heads[name], *(f"  {line}" for line in (_classes(values) if classes else _values(values)))]
    return lines


def _shown(show: Path, request: Request, outputs: dict[str, Array]) -> list[str]:
    try:
        return [str(line) for line in runpy.run_path(str(show))["show"](request.inputs, outputs)]
    except Exception as error:
        raise EnsembleError(f"show failed: {type(error).__name__}: {error}", path=show) from error


def _classes(values: Array) -> Iterator[str]:
    """``value:index:label`` of Triton's classification extension; the label is missing where the model has none."""
    for element in values.reshape(-1):
        value, index, label = (*_text(element).split(":", 2), "")[:3]
        yield f"{float(value):7.3f}  {index:>4}  {label}".rstrip()


def _values(values: Array) -> Iterator[str]:
    flat = values.reshape(-1)
    if values.dtype.kind in "OSU":
        yield from (_text(element) for element in flat[:_MOST_LINES])
        if flat.size > _MOST_LINES:
            yield "…"
    else:
        numbers = flat[:_MOST_VALUES].tolist()
        first = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in numbers]
        yield f"[{', '.join([*first, '…'] if flat.size > _MOST_VALUES else first)}]"


def _text(element: Any) -> str:
    """Strings come as bytes in a binary answer and as str in JSON."""
    return element.decode("utf-8", "replace") if isinstance(element, bytes) else str(element)
