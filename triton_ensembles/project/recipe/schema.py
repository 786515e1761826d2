"""The schema of ensemble.toml: what git cannot hold.

Where weights come from, how each file is made, which engine runs a step on the CPU, and which environment a Python step
runs in. :mod:`triton_ensembles.project.recipe.json_schema` writes it for editors, and docs/ensemble-toml.md for people.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from triton_ensembles.project.recipe.artifact import AccuracyScript, Artifact
from triton_ensembles.project.recipe.artifact_kinds import ACCURACY_CHECKS, INT8, MAKERS
from triton_ensembles.project.recipe.source import Source
from triton_ensembles.project.recipe.values import InnerPath, Name, Specifier, Table, UnknownNameError
from triton_ensembles.triton.model_formats import MADE_FOR

_OWN_MAKER = "or run a script of the project, by maker = 'script'"
_OWN_CHECK = "or name a script of the project, 'scripts/accuracy.py'"


class Environment(Table):
    """The packages that Python steps import besides numpy."""

    model_config = ConfigDict(title="[environments.NAME]")

    file: InnerPath = Field(examples=["envs/processing.yml"])
    """The conda environment file, relative to the project."""
    steps: tuple[str, ...] = Field(min_length=1, examples=[["preprocess", "postprocess"]])
    """The steps that run in the environment."""
    kind: Literal["folder", "wheels"] = Field(default="folder", examples=["wheels"])
    """How the archive has it: ``folder`` (packed by conda-pack, used where it lies) or ``wheels`` (only the packages'
    files, beside model.py)."""
    exclude: tuple[str, ...] = Field(default=(), examples=[["*/site-packages/huggingface_hub*"]])
    """Globs of files inside the environment that are left out of the archive."""


class Engine(Table):
    """The engine of a step on the CPU; without one, the backend in the step's config.pbtxt runs it."""

    model_config = ConfigDict(title="[engines.STEP]")

    backend: Literal["openvino", "onnxruntime", "tensorflow"] = Field(default="onnxruntime", examples=["openvino"])
    """The backend that runs the step; openvino by default in bf16 and int8."""
    precision: Literal["fp32", "bf16", "int8"] = Field(default="fp32", examples=["bf16"])
    """The precision of the computation. openvino computes in bf16, for an artifact with ``accuracy``, and in int8, for
    one that the maker ``int8_onnx`` makes. A processor without instructions for it is no faster than in fp32."""
    instances: Annotated[int, Field(strict=True, ge=1, le=64)] = Field(default=1, examples=[2])
    """How many instances run batches in parallel. They share the cores and, but for tensorflow, the mapped weights."""

    @model_validator(mode="before")
    @classmethod
    def _computes_in_its_precision(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("precision", "fp32") == "fp32":
            return data
        return {"backend": "openvino"} | data


class GpuOnly(Table):
    """Settings that apply to the gpu target and to no other."""

    model_config = ConfigDict(title="[gpu]")

    parameters: dict[str, dict[str, str]] = Field(default={}, examples=[{"preprocess": {"pad_to": "8"}}])
    """Parameters to add to each step's config.pbtxt, by step."""


class Recipe(Table):
    """The recipe of an ensemble: what a folder of ensembles/ needs besides the Triton model repository in it."""

    model_config = ConfigDict(title="ensemble.toml")

    requires: Specifier = Field(default="", examples=[">=0.2", ">=0.2,<1"])
    """The versions of triton-ensembles that the recipe is for. Others refuse it in one line, before they read on."""
    description: str = Field(examples=["Sentences to unit vectors"])
    """A line about the ensemble, which ``triton-ensembles list`` prints."""
    leading: bool = Field(default=True, examples=[False])
    """Whether commands that build take it when no ensemble is named. Others are built by name."""
    sources: dict[Name, Source] = Field(
        default={}, examples=[{"weights": {"from": [{"path": "weights"}], "files": {"model.onnx": "0" * 64}}}]
    )
    """The files to fetch, by a name that artifacts refer to."""
    artifacts: tuple[Artifact, ...] = Field(
        default=(), examples=[[{"path": "encoder/1/model.onnx", "maker": "bert_onnx"}]]
    )
    """The files to make."""
    engines: dict[str, Engine] = Field(default={}, examples=[{"encoder": {"backend": "openvino"}}])
    """The engine of each step on the CPU; without one, the backend in the step's config.pbtxt."""
    environments: dict[Name, Environment] = Field(
        default={}, examples=[{"processing": {"file": "envs/processing.yml", "steps": ["preprocess"]}}]
    )
    """The environments of Python steps, by name."""
    parameters: dict[str, dict[str, str]] = Field(default={}, examples=[{"preprocess": {"max_tokens": "128"}}])
    """Parameters to add to each step's config.pbtxt, by step."""
    gpu: GpuOnly = Field(default=GpuOnly(), examples=[{"parameters": {"preprocess": {"pad_to": "8"}}}])
    """Settings for archives of the gpu target only."""

    @model_validator(mode="after")
    def _names_exist(self) -> Recipe:
        paths: set[str] = set()
        for artifact in self.artifacts:
            if artifact.needs is not None and artifact.needs not in paths:
                message = f"{artifact.path}: no artifact before this one has the path"
                raise UnknownNameError(message, artifact.needs, paths)
            paths.add(artifact.path)
            makers = [artifact.maker] + ([artifact.random.maker] if artifact.random else [])
            for maker in makers:
                if maker not in MAKERS:
                    raise UnknownNameError(f"{artifact.path}: unknown maker", maker, MAKERS, _OWN_MAKER)
            if artifact.source is not None and artifact.source not in self.sources:
                raise UnknownNameError(f"{artifact.path}: unknown source", artifact.source, self.sources)
            files = self.sources[artifact.source].files if artifact.source is not None else {}
            if artifact.file is not None and artifact.file not in files:
                raise UnknownNameError(f"{artifact.path}: source {artifact.source!r} has no file", artifact.file, files)
            check = artifact.measured_on
            if check and not isinstance(artifact.accuracy, AccuracyScript) and check not in ACCURACY_CHECKS:
                raise UnknownNameError(f"{artifact.path}: unknown accuracy check", check, ACCURACY_CHECKS, _OWN_CHECK)
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
            model = self.model_for(step, engine.backend, engine.precision)
            if not self.models_of(step):
                raise ValueError(f"the engine of {step!r} needs an artifact in {step}/1/ that it can load")
            if model is None and engine.precision == "int8" and engine.backend == "openvino":
                artifact = f"an artifact {step}/1/model.int8.onnx with maker = {INT8!r} and options.calibration"
                raise ValueError(f"the engine of {step}: to compute in 'int8', it needs {artifact}")
            if model is None and engine.precision != "int8":
                files = ", ".join(file.name for file in self.models_of(step))
                raise ValueError(f"the engine of {step}: {engine.backend!r} does not load {files}")
            if engine.precision != "fp32" and engine.backend != "openvino":
                raise ValueError(f"the engine of {step}: only openvino computes in {engine.precision!r}")
            if engine.precision != "fp32" and model is not None and model.accuracy is None:
                raise ValueError(
                    f"the engine of {step}: to compute in {engine.precision!r}, {model.path} needs accuracy = "
                    f"{' or '.join(map(repr, ACCURACY_CHECKS))}, or a script of the project"
                )
        return self

    def models_of(self, step: str) -> tuple[Artifact, ...]:
        """The files of the step that some backend loads."""
        return tuple(artifact for artifact in self.artifacts if artifact.step == step and artifact.is_model)

    def model_for(self, step: str, backend: str, precision: str = "fp32") -> Artifact | None:
        """The first of them that ``backend`` loads for a precision: an int8 file for int8 only."""
        suffixes, quantized = MADE_FOR.get(backend, ()), precision == "int8"
        models = (model for model in self.models_of(step) if (model.maker == INT8) == quantized)
        return next((model for model in models if model.path.endswith(suffixes)), None)

    def artifact(self, path: str) -> Artifact:
        return next(artifact for artifact in self.artifacts if artifact.path == path)
