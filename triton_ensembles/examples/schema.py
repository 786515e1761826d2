"""The JSON of a request: the part of KServe v2's inference request that examples use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from triton_ensembles.errors import EnsembleError

_FORM = 'a request is {"inputs": [{"name": …, "datatype": …, "shape": […], "data": […]}]}'


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class InputParameters(_Strict):
    file: str = ""
    mean: str = "0 0 0"
    std: str = "1 1 1"


class InputTensor(_Strict):
    name: str
    datatype: str
    shape: Annotated[tuple[Annotated[int, Field(ge=-1)], ...], Field(min_length=1)]
    data: list[Any] | None = None
    parameters: InputParameters = InputParameters()


class OutputParameters(_Strict):
    classification: Annotated[int, Field(ge=1)] | None = None


class RequestedOutput(_Strict):
    name: str
    parameters: OutputParameters = OutputParameters()


class Body(_Strict):
    inputs: Annotated[tuple[InputTensor, ...], Field(min_length=1)]
    outputs: tuple[RequestedOutput, ...] = ()


def parse_request(path: Path) -> Body:
    """The request at ``path``. Raises :class:`EnsembleError`, with the line where the JSON itself is not valid."""
    try:
        return Body.model_validate(json.loads(path.read_bytes()))
    except OSError as error:
        raise EnsembleError(f"this cannot be read: {error.strerror}", path=path) from error
    except json.JSONDecodeError as error:
        raise EnsembleError(f"this is not JSON: {error.msg}", path=path, line=error.lineno, cure=_FORM) from error
    except UnicodeDecodeError as error:
        raise EnsembleError("this is not JSON: it is not text in UTF-8", path=path, cure=_FORM) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the request"
        words = {"missing": "is missing", "extra_forbidden": "is not a key that is known here"}
        message = words.get(first["type"], f"is wrong: {first['msg']}")
        raise EnsembleError(f"{place} {message}", path=path, cure=_FORM) from error
