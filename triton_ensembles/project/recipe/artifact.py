"""``[[artifacts]]``: the files that the build makes, by which makers and from what."""

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema, model_validator

from triton_ensembles.ground.spelling import choices
from triton_ensembles.project.recipe.artifact_kinds import ACCURACY_CHECKS, CALIBRATION, INT8, MAKERS, RUN, SCRIPT
from triton_ensembles.project.recipe.values import InnerPath, Options, Table
from triton_ensembles.triton.model_formats import MADE_FOR

_MODEL_SUFFIXES = frozenset(suffix for suffixes in MADE_FOR.values() for suffix in suffixes)
_MAKER: Any = {"enum": list(MAKERS)}
_PYTHON = ".py"


def _with_script(entry: dict[str, Any]) -> dict[str, Any]:
    """An artifact's entry, or its replacement's, with ``run`` as one of the options."""
    if not isinstance(entry.get(RUN), str):
        return entry
    if entry.get("maker") != SCRIPT:
        raise ValueError(f"'run' is for maker = {SCRIPT!r}")
    options = entry.get("options", {})
    return entry | {"options": options | {RUN: entry[RUN]}} if isinstance(options, dict) else entry


class Random(Table):
    """A replacement with seeded random weights, for a source that is not available (``--weights auto``)."""

    model_config = ConfigDict(title="random")

    maker: str = Field(json_schema_extra=_MAKER, examples=["numbered_labels"])
    """The maker of the replacement."""
    run: InnerPath | None = Field(default=None, examples=["scripts/make_random.py"])
    """The script of the maker ``script``, relative to the project."""
    options: Options = Field(default={}, examples=[{"count": 80}])
    """The maker's options."""


class AccuracyScript(Table):
    """An accuracy check of the project's own: a script, with what it reads."""

    model_config = ConfigDict(title="accuracy")

    run: InnerPath = Field(examples=["scripts/accuracy.py"])
    """The script, relative to the project. It is run as ``python SCRIPT MODEL JOB``, and fails to refuse the model."""
    reads: tuple[InnerPath, ...] = Field(default=(), examples=[["data/holdout.npz"]])
    """Other files of the project that the script reads. A change of one has the model checked, not made, again."""
    options: Options = Field(default={}, examples=[{"at_least": 0.76}])
    """The ``options`` in JOB."""


class AccuracyCheck(Table):
    """A check that comes with the tool, on texts of one's own, or with other least values."""

    model_config = ConfigDict(title="accuracy")

    on: str = Field(json_schema_extra={"enum": list(ACCURACY_CHECKS)}, examples=["sentences"])
    """``sentences`` or ``photographs``."""
    texts: InnerPath | None = Field(default=None, examples=["data/questions.txt"])
    """A file of the project with texts for ``sentences``, one a line, such as users send: a hundred or more."""
    least_cosine: Annotated[float, Field(ge=-1, le=1)] | None = Field(default=None, examples=[0.98])
    """The least cosine to fp32 of any answer: 0.9995 for bf16, 0.98 for int8."""
    mean_cosine: Annotated[float, Field(ge=-1, le=1)] | None = Field(default=None, examples=[0.995])
    """Their least mean: 0.9995 for bf16, 0.995 for int8."""
    kept: Annotated[float, Field(ge=0, le=1)] | None = Field(default=None, examples=[0.95])
    """The least share of the ten nearest neighbours (``sentences``) or first classes (``photographs``) that stay."""

    @model_validator(mode="after")
    def _texts_are_for_sentences(self) -> "AccuracyCheck":
        if self.texts is not None and self.on == "photographs":
            raise ValueError("'texts' are for on = 'sentences'; for other data, name a script of the project")
        return self


def _as_table(accuracy: Any) -> Any:
    """``"scripts/accuracy.py"`` is short for a table."""
    return {RUN: accuracy} if isinstance(accuracy, str) and accuracy.endswith(_PYTHON) else accuracy


def _kind_of_accuracy(accuracy: Any) -> str | None:
    if isinstance(accuracy, str):
        return "check"
    if isinstance(accuracy, AccuracyCheck) or (isinstance(accuracy, dict) and "on" in accuracy):
        return "table"
    return SCRIPT if isinstance(accuracy, dict | AccuracyScript) else None


_CheckName = Annotated[
    str,
    WithJsonSchema(
        {"anyOf": [{"enum": list(ACCURACY_CHECKS)}, {"type": "string", "pattern": r"^(?!/)(?!(.*/)?\.\.(/|$)).+\.py$"}]}
    ),
]
Accuracy = Annotated[
    Annotated[_CheckName, Tag("check")]
    | Annotated[AccuracyCheck, Tag("table")]
    | Annotated[AccuracyScript, Tag(SCRIPT)],
    Discriminator(
        _kind_of_accuracy,
        custom_error_type="accuracy",
        custom_error_message=f"an accuracy check is {choices(ACCURACY_CHECKS)}, or a script of the project",
    ),
    BeforeValidator(_as_table),
]


class Artifact(Table):
    """A file of the staged repository, written by a maker."""

    model_config = ConfigDict(title="[[artifacts]]")

    path: InnerPath = Field(examples=["encoder/1/model.onnx"])
    """Where it is staged: ``STEP/VERSION/FILE``, with the step's name in git."""
    maker: str = Field(json_schema_extra=_MAKER, examples=["copy"])
    """The maker of the file: ``copy`` and ``member`` (of a tar) take one of a source, ``script`` runs a script of the
    project."""
    run: InnerPath | None = Field(default=None, examples=["scripts/make_model.py"])
    """The script of the maker ``script``, relative to the project. It is run as ``python SCRIPT OUTPUT JOB``."""
    source: str | None = Field(default=None, examples=["weights"])
    """The source that the maker reads, a name in ``[sources]``."""
    file: str | None = Field(default=None, examples=["model.onnx"])
    """The file of the source, for a maker that reads one file only."""
    needs: InnerPath | None = Field(default=None, examples=["encoder/1/model.onnx"])
    """The path of another artifact, listed earlier, that this one is made from."""
    reads: tuple[InnerPath, ...] = Field(default=(), examples=[["pipelines/decode.py"]])
    """Other files of the project that the maker reads, such as a pipeline's script."""
    tools: tuple[str, ...] = Field(default=(), examples=[["torch", "onnx"]])
    """Packages whose versions a script's result depends on: with another version, it is made again."""
    options: Options = Field(default={}, examples=[{"hidden": 384}])
    """The maker's options."""
    random: Random | None = Field(default=None, examples=[{"maker": "numbered_labels", "options": {"count": 80}}])
    """The replacement when the source is not available (``--weights auto``)."""
    accuracy: Accuracy | None = Field(
        default=None, examples=["sentences", "scripts/accuracy.py", {"on": "sentences", "texts": "data/questions.txt"}]
    )
    """The check that refuses a file that is not accurate enough. ``sentences`` and ``photographs`` compare an engine
    that computes in less than fp32 with fp32; a script of the project looks at the file each time that it is made."""

    @model_validator(mode="before")
    @classmethod
    def _reads_its_scripts(cls, data: Any) -> Any:
        """The scripts become options of their makers, and files that the artifact is made from."""
        if not isinstance(data, dict):
            return data
        data = _with_script(data)
        random = _with_script(data["random"]) if isinstance(data.get("random"), dict) else data.get("random")
        entries = [entry for entry in (data, random) if isinstance(entry, dict)]
        scripts = [entry[RUN] for entry in entries if isinstance(entry.get(RUN), str)]
        options = data.get("options")
        if data.get("maker") == INT8 and isinstance(options, dict) and isinstance(options.get(CALIBRATION), str):
            scripts.append(options[CALIBRATION])
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
        """Return whether it is what a backend loads: ``STEP/1/model.onnx``."""
        return bool(re.match(r"[^/]+/\d+/[^/]+$", self.path)) and Path(self.path).suffix in _MODEL_SUFFIXES

    @property
    def project_files(self) -> tuple[str, ...]:
        """The files of the project that making it and checking it read."""
        return (*self.reads, *self.checked_by)

    @property
    def checked_by(self) -> tuple[str, ...]:
        """The files of the project that its accuracy check reads."""
        match self.accuracy:
            case AccuracyScript(run=script, reads=reads):
                return script, *reads
            case AccuracyCheck(texts=str(texts)):
                return (texts,)
        return ()

    @property
    def measured_on(self) -> str:
        """Return what its accuracy check is called: "sentences", "photographs", or the path of a script."""
        match self.accuracy:
            case AccuracyScript(run=name) | AccuracyCheck(on=name):
                return name
        return self.accuracy or ""
