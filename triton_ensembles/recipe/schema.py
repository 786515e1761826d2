"""The schema of ensemble.toml: what git cannot hold.

Where weights come from, how each file is made, which engine runs a step on the CPU, and which environment a Python step
runs in. The docstring under a field is its description in the JSON schema of :class:`Recipe`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from triton_ensembles.artifacts import ACCURACY_CHECKS, MAKERS, RUN, SCRIPT
from triton_ensembles.spelling import listed, nearest

MODEL_FILES = {
    "tensorrt": (".plan",),
    "tensorflow": (".graphdef",),
    "onnxruntime": (".onnx",),
    "openvino": (".xml", ".onnx", ".graphdef"),
    "pytorch": (".pt", ".pt2"),
    "dali": (".dali",),
}
"""The files that each backend loads, by the ends of their names. A step may have several model files: the backends of
the target decide which of them is staged."""

_LONGEST_NAME = 255  # bytes, on the file systems of Linux
_MODEL_SUFFIXES = frozenset(suffix for suffixes in MODEL_FILES.values() for suffix in suffixes)


class UnknownNameError(ValueError):
    """A name in the recipe that nothing has; ``known`` are those that there are."""

    def __init__(self, message: str, name: str, known: Iterable[str]) -> None:
        super().__init__(f"{message} {name!r}")
        meant = nearest(name, known := list(known))
        there_are = f"there {'is' if len(known) == 1 else 'are'} {listed(known)}" if known else "there is none"
        self.cure = f"did you mean {meant!r}?" if meant else there_are


def _stays_inside(path: str) -> str:
    """The path without parts that say nothing: ``a/b`` for ``./a//b/``."""
    inner = PurePosixPath(path).as_posix()
    if inner == "." or inner.startswith("/") or ".." in inner.split("/") or "\0" in inner:
        raise ValueError(f"{path!r} must be a relative path that does not leave its folder")
    if any(len(os.fsencode(part)) > _LONGEST_NAME for part in inner.split("/")):
        raise ValueError(f"a name in this path is longer than {_LONGEST_NAME} bytes")
    return inner


def _is_specifier(text: str) -> str:
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        raise ValueError(f"{text!r} does not say which versions; write it as '>=0.3'") from None
    return text


def _is_file_name(name: str) -> str:
    """The names of sources and environments are parts of names of files."""
    if not name or "/" in name or name.startswith(".") or not name.isprintable() or len(os.fsencode(name)) > 100:
        raise ValueError(f"{name!r} must be a name for a file: without '/', and with no '.' before it")
    return name


def _is_address(url: str) -> str:
    """Raises ValueError for an address that no download can begin with."""
    try:
        if urlsplit(url).hostname and urlsplit(url).port != 0:
            return url
    except ValueError:
        pass
    raise ValueError(f"{url!r} is not an address: it needs a host, and a port below 65536 if any")


Name = Annotated[str, AfterValidator(_is_file_name)]
InnerPath = Annotated[str, AfterValidator(_stays_inside)]
EnvironmentKind = Literal["folder", "tar", "wheels"]
Options = dict[str, str | int | tuple[str, ...]]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, use_attribute_docstrings=True)


class HubPlace(_Frozen):
    """A repository of the Hugging Face Hub at one commit."""

    hub: str
    """The repository, such as ``sentence-transformers/all-MiniLM-L6-v2``."""
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    """The full hash of the commit."""

    def __str__(self) -> str:
        return f"hub {self.hub}@{self.revision[:8]}"


class PackagePlace(_Frozen):
    """A Python package whose wheel contains the files."""

    package: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+==[A-Za-z0-9._!+-]+$")]
    """Name and version, such as ``name==1.0``."""
    folder: InnerPath
    """The folder of the files inside the wheel."""

    def __str__(self) -> str:
        return f"package {self.package}"


class UrlPlace(_Frozen):
    """A public address."""

    url: Annotated[str, Field(pattern=r"^https?://.+/$"), AfterValidator(_is_address)]
    """The address of the folder. It ends in ``/``, and the file's name is appended."""

    def __str__(self) -> str:
        return self.url


def _kind_of_place(place: Any) -> str | None:
    keys = place if isinstance(place, dict) else place.model_fields_set
    return next((kind for kind in ("hub", "package", "url") if kind in keys), None)


Place = Annotated[
    Annotated[HubPlace, Tag("hub")] | Annotated[PackagePlace, Tag("package")] | Annotated[UrlPlace, Tag("url")],
    Discriminator(
        _kind_of_place, custom_error_type="place", custom_error_message="a place needs a hub, a package or a url"
    ),
]


class Source(_Frozen):
    """Files to download."""

    places: tuple[Place, ...] = Field(alias="from", min_length=1)
    """The places that may have the files, tried in this order."""
    files: dict[InnerPath, Sha256] = Field(min_length=1)
    """The sha256 of each file, by its name."""


def _with_script(entry: dict[str, Any]) -> dict[str, Any]:
    """An artifact's entry, or its replacement's, with ``run`` as an option too."""
    if not isinstance(entry.get(RUN), str):
        return entry
    if entry.get("maker") != SCRIPT:
        raise ValueError(f"'run' is for maker = {SCRIPT!r}")
    options = entry.get("options", {})
    return entry | {"options": options | {RUN: entry[RUN]}} if isinstance(options, dict) else entry


class Random(_Frozen):
    """A replacement with seeded random weights, for a source that is not available."""

    maker: str
    """The maker of the replacement."""
    run: InnerPath | None = None
    """The script of the maker ``script``, relative to the project."""
    options: Options = {}
    """The maker's options."""


class Artifact(_Frozen):
    """One file of the staged repository, written by a maker."""

    path: InnerPath
    """Where it is staged: ``STEP/1/model.onnx``, with the step's name in git."""
    maker: str
    """The maker of the file, one of ``MAKERS`` in triton_ensembles/artifacts."""
    run: InnerPath | None = None
    """The script of the maker ``script``, relative to the project: ``scripts/make_model.py``."""
    source: str | None = None
    """The source that the maker reads, a name in ``[sources]``."""
    file: str | None = None
    """The file of the source, for a maker that reads one file only."""
    needs: InnerPath | None = None
    """The path of another artifact, listed earlier, that this one is made from."""
    reads: tuple[InnerPath, ...] = ()
    """Other files of the project that the maker reads, such as a pipeline's script."""
    options: Options = {}
    """The maker's options."""
    random: Random | None = None
    """The replacement when the source is not available (``--weights auto``)."""
    accuracy: str | None = None
    """The accuracy check of an engine that computes in less than fp32, one of ``ACCURACY_CHECKS`` in
    triton_ensembles/artifacts."""

    @model_validator(mode="before")
    @classmethod
    def _reads_its_scripts(cls, data: Any) -> Any:
        """The scripts become options of their makers, and files that the artifact is made from."""
        if not isinstance(data, dict):
            return data
        data = _with_script(data)
        random = _with_script(data["random"]) if isinstance(data.get("random"), dict) else data.get("random")
        scripts = [each[RUN] for each in (data, random) if isinstance(each, dict) and isinstance(each.get(RUN), str)]
        reads = data.get("reads", ())
        if not scripts or not isinstance(reads, list | tuple):
            return data
        return data | {"reads": (*reads, *scripts)} | ({"random": random} if random else {})

    @property
    def step(self) -> str:
        return self.path.split("/", 1)[0]

    @property
    def name(self) -> str:
        return Path(self.path).name

    @property
    def version(self) -> str:
        """The name of its version folder; "" outside of one."""
        second = self.path.split("/")[1]
        return second if second.isdecimal() and self.path.count("/") > 1 else ""

    @property
    def is_model(self) -> bool:
        """Whether it is what a backend loads: ``STEP/1/model.onnx``."""
        return bool(re.match(r"[^/]+/\d+/[^/]+$", self.path)) and Path(self.path).suffix in _MODEL_SUFFIXES


class Environment(_Frozen):
    """The packages that Python steps import besides numpy."""

    file: InnerPath
    """The conda environment file, relative to the project: ``envs/processing.yml``."""
    steps: tuple[str, ...] = Field(min_length=1)
    """The steps that run in the environment."""
    kind: EnvironmentKind = "folder"
    """How the archive has it: ``folder`` (packed by conda-pack, used where it lies), ``tar`` (the same as a .tar.gz,
    which Triton extracts into /tmp and leaves there) or ``wheels`` (only the packages' files, beside model.py)."""
    exclude: tuple[str, ...] = ()
    """Globs of files inside the environment that are left out of the archive: ``*/site-packages/huggingface_hub*``."""


class Engine(_Frozen):
    """The engine of a step on the CPU."""

    backend: Literal["openvino", "onnxruntime", "tensorflow"]
    """The backend that runs the step."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """The precision of the computation; only openvino computes in bf16."""
    instances: Annotated[int, Field(ge=1, le=64)] = 1
    """How many instances run batches in parallel. They share the cores and, but for tensorflow, the mapped weights."""


class GpuOnly(_Frozen):
    """Settings for the gpu target only."""

    parameters: dict[str, dict[str, str]] = {}
    """Parameters to add to each step's config.pbtxt, by step."""


class Recipe(_Frozen):
    """The content of ensemble.toml."""

    requires: Annotated[str, AfterValidator(_is_specifier)] = ""
    """The versions of triton-ensembles that the recipe is for: ``>=0.3``. Others refuse it in one line."""
    description: str
    """One line about the ensemble, which ``build.py list`` prints."""
    leading: bool = True
    """Whether commands that build take it when no ensemble is named. Others are built by name."""
    sources: dict[Name, Source] = {}
    """The files to download, by a name that artifacts refer to."""
    artifacts: tuple[Artifact, ...] = ()
    """The files to make."""
    engines: dict[str, Engine] = {}
    """The engine of each step on the CPU; without one, the backend in the step's config.pbtxt."""
    environments: dict[Name, Environment] = {}
    """The environments of Python steps, by name."""
    parameters: dict[str, dict[str, str]] = {}
    """Parameters to add to each step's config.pbtxt, by step."""
    gpu: GpuOnly = GpuOnly()
    """Settings that apply to the gpu target and to no other."""

    @model_validator(mode="after")
    def _names_exist(self) -> Recipe:
        made: set[str] = set()
        for artifact in self.artifacts:
            if artifact.needs is not None and artifact.needs not in made:
                raise UnknownNameError(
                    f"{artifact.path}: no artifact before this one has the path", artifact.needs, made
                )
            made.add(artifact.path)
            makers = [artifact.maker] + ([artifact.random.maker] if artifact.random else [])
            for maker in makers:
                if maker not in MAKERS:
                    raise UnknownNameError(f"{artifact.path}: unknown maker", maker, MAKERS)
            if artifact.source is not None and artifact.source not in self.sources:
                raise UnknownNameError(f"{artifact.path}: unknown source", artifact.source, self.sources)
            files = self.sources[artifact.source].files if artifact.source is not None else {}
            if artifact.file is not None and artifact.file not in files:
                raise UnknownNameError(f"{artifact.path}: source {artifact.source!r} has no file", artifact.file, files)
            if artifact.accuracy is not None and artifact.accuracy not in ACCURACY_CHECKS:
                raise UnknownNameError(f"{artifact.path}: unknown accuracy check", artifact.accuracy, ACCURACY_CHECKS)
        return self

    @model_validator(mode="after")
    def _a_step_has_one_environment(self) -> Recipe:
        owners: dict[str, str] = {}
        for name, environment in self.environments.items():
            for step in environment.steps:
                if owners.setdefault(step, name) != name:
                    raise ValueError(f"the step {step!r} has two environments: {owners[step]} and {name}")
        return self

    @model_validator(mode="after")
    def _engines_can_run(self) -> Recipe:
        for step, engine in self.engines.items():
            model = self.model_for(step, engine.backend)
            if not self.models_of(step):
                raise ValueError(f"the engine of {step!r} needs an artifact in {step}/1/ that it can load")
            if model is None:
                files = ", ".join(each.name for each in self.models_of(step))
                raise ValueError(f"the engine of {step}: {engine.backend!r} does not load {files}")
            if engine.precision != "fp32" and engine.backend != "openvino":
                raise ValueError(f"the engine of {step}: only openvino computes in {engine.precision!r}")
            if engine.precision != "fp32" and model.accuracy is None:
                raise ValueError(
                    f"the engine of {step}: to compute in {engine.precision!r}, {model.path} needs accuracy = "
                    f"{' or '.join(map(repr, ACCURACY_CHECKS))}"
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
