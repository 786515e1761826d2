"""The gateway's table, ``models.toml``: which models it serves, and how payloads become tensors and tensors results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import parse_toml, read_text
from triton_ensembles.ground.spelling import nearest
from triton_ensembles.sagemaker.contract import INVOKE_SECONDS, LARGEST_BODY

_LONGEST = 1 << 18  # letters of the table
Form = Literal["base64", "text", "json"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), use_attribute_docstrings=True)


class Input(_Frozen):
    """Where a tensor comes from."""

    field: str = Field(min_length=1)
    """The key of the payload."""
    form: Form
    """``base64``: bytes of a file, or an image's raw body; ``text``: a string, or a text's raw body; ``json``: numbers,
    true and false, or strings, in lists as the tensor's dimensions."""


class Model(_Frozen):
    """A model that clients ask for by name and version."""

    name: str = Field(min_length=1)
    """The client's ``modelname``."""
    version: str = Field(min_length=1)
    """The client's ``version``. A request without one gets the first of this name in the table."""
    model: str = Field(min_length=1)
    """Triton's model, mostly an ensemble."""
    model_version: str = Field("", pattern=r"^([1-9][0-9]*)?$")
    """The model's version in Triton, a folder's name; without it, the model's version_policy decides."""
    steps_version: str = Field("", pattern=r"^([1-9][0-9]*)?$")
    """The version of those steps of an ensemble that have it. Triton has one config for all versions of an ensemble,
    so the command ``gateway`` writes another ensemble over the same steps."""
    inputs: dict[str, Input] = Field(min_length=1)
    """By the name of the input tensor."""
    result: str | tuple[str, ...] | dict[str, str]
    """The outputs that clients get: the values of one (``"SCORES"``), a list of lists with an item of each
    (``["LABEL", "SCORE"]``), or of objects (``{label = "LABEL", score = "SCORE"}``)."""
    seconds: float = Field(INVOKE_SECONDS, gt=0)
    """How long an answer may take. SageMaker waits 60 s for a container."""

    @field_validator("version", "model_version", "steps_version", mode="before")
    @classmethod
    def _is_text(cls, version: object) -> object:
        return str(version) if isinstance(version, int) and not isinstance(version, bool) else version

    @model_validator(mode="after")
    def _is_whole(self) -> Model:
        if twice := _repeated(source.field for source in self.inputs.values()):
            raise ValueError(f"two inputs are made from the field {twice!r}")
        if not self.outputs:
            raise ValueError("result names no output tensor")
        return self

    @property
    def served(self) -> str:
        """The name under which Triton has it."""
        return f"{self.model}.version_{self.steps_version}" if self.steps_version else self.model

    @property
    def outputs(self) -> tuple[str, ...]:
        """The output tensors that the result is made from."""
        if isinstance(self.result, str):
            return (self.result,)
        return self.result if isinstance(self.result, tuple) else tuple(self.result.values())

    def __str__(self) -> str:
        return f"{self.name} version {self.version}"

    def __hash__(self) -> int:
        return hash((self.name, self.version))


class Table(_Frozen):
    """The whole file."""

    models: tuple[Model, ...] = Field(min_length=1)
    largest_body: int = Field(LARGEST_BODY, gt=0)
    """Bytes of a request; a larger one gets status 413."""

    @model_validator(mode="after")
    def _names_each_once(self) -> Table:
        if twice := _repeated(map(str, self.models)):
            raise ValueError(f"{twice} is listed twice")
        return self

    @cached_property
    def by_name(self) -> Mapping[str, Sequence[Model]]:
        """The versions of each name; the first is the one for requests without a version."""
        versions: dict[str, list[Model]] = {}
        for model in self.models:
            versions.setdefault(model.name, []).append(model)
        return versions


NO_TABLE = Table.model_construct(models=())
"""The table of a host whose models are asked for in KServe v2 alone."""


def of_the_host(name: str, version: str) -> Model:
    """A model that no table has, by its own name, for requests in KServe v2. ``version``: a number, or ""."""
    return Model.model_construct(name=name, version=version, model=name, model_version=version)


def read_table(path: Path) -> Table:
    """Read ``models.toml``.

    Raises:
        EnsembleError: it cannot be read or is not valid; all faults, a line each.
    """
    text = read_text(path, _LONGEST)
    try:
        return Table.model_validate(parse_toml(text, path))
    except ValidationError as error:
        faults = [_fault(fault, text) for fault in error.errors()]
        raise EnsembleError("\n".join(faults), path=path) from None


def _fault(error: ErrorDetails, text: str) -> str:
    where, message = list(error["loc"]), error["msg"].removeprefix("Value error, ")
    entry = _lines_of_models(text)[where[1]] if len(where) > 1 and isinstance(where[1], int) else 0
    if error["type"] == "extra_forbidden":
        key = str(where[-1])
        known = {name for model in (Table, Model, Input) for name in model.model_fields}
        message = f"unknown key {key!r}" + (f"; did you mean {meant!r}?" if (meant := nearest(key, known)) else "")
        where.pop()
    place = ".".join(str(part) for part in where if not isinstance(part, int))
    return (f"line {entry}: " if entry else "") + (f"{place}: " if place else "") + message


def _lines_of_models(text: str) -> list[int]:
    """The line of each ``[[models]]``; 0 for all of them in a file that writes its models otherwise."""
    lines = [number for number, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[\s*models\s*\]\]", line)]
    return lines + [0] * text.count("{")


def _repeated(names: object) -> str:
    counted = Counter(names)  # type: ignore[call-overload]
    return next((name for name, count in counted.items() if count > 1), "")
