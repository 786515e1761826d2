"""The makers and accuracy checks that recipes name, and what each of them reads of a recipe.

Their modules are in :mod:`triton_ensembles.artifacts`, and are imported only where they run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

SCRIPT, RUN = "script", "run"  # the maker that is a script of the project, and the option that names it
OWN_CHECK, PRECISION = "accuracy", "precision"  # a script of the project that checks, and an option of every check
REFERENCE, TEXTS = "reference", "texts"  # options of checks: the fp32 file of an int8 one, and texts of one's own
INT8, CALIBRATION = "int8_onnx", "calibration"  # the maker of int8 files, and its option that names data of the project

MAKERS = {
    "copy": "plain_files:copy",
    "member": "plain_files:member",
    "numbered_labels": "plain_files:numbered_labels",
    "bert_onnx": "bert_onnx:make",
    "dali_pipeline": "dali_pipeline:make",
    INT8: "int8_onnx:make",
    "tensorrt_plan": "tensorrt_plan:make",
    SCRIPT: "script:make",
}
"""Module and function of each maker, by the name that recipes use."""

ACCURACY_CHECKS = {"sentences": "accuracy_on_sentences:make", "photographs": "accuracy_on_photographs:make"}
"""Functions of the same form that compare a model in a lower precision with fp32, and fail when it is too different."""


@dataclass(frozen=True)
class MakerNeeds:
    """The parts that a maker reads of an artifact's entry in the recipe."""

    makes: str  # what it writes, for docs/ensemble-toml.md
    # those that it cannot do without, and the types of their values
    options: Mapping[str, type] = field(default_factory=dict)
    optional: Mapping[str, type] = field(default_factory=dict)  # other options that it knows
    file: bool = False  # whether it reads one file, which `file` or `needs` names
    files: bool = False  # whether it reads all files of the source
    any_options: bool = False  # whether it takes whatever options there are


NEEDS = {
    "copy": MakerNeeds("a file of the source, as it is", file=True),
    "member": MakerNeeds("a file inside a tar archive of the source", {"member": str}, file=True),
    "numbered_labels": MakerNeeds("labels for classes that mean nothing", {"count": int}),
    "bert_onnx": MakerNeeds("ONNX of a sentence encoder of the BERT family", files=True),
    "dali_pipeline": MakerNeeds(
        "a DALI pipeline, of a script with `write(path, device)`", {"pipeline": str}, {"graph": str}
    ),
    INT8: MakerNeeds(
        'an int8 copy of an ONNX file, for `precision = "int8"`',
        {CALIBRATION: str},
        {"transformer": bool, "leave_out": tuple},
        file=True,
    ),
    "tensorrt_plan": MakerNeeds(
        "a TensorRT plan of an ONNX file", {"profiles": tuple, "accuracy": str}, {"precision": str}, file=True
    ),
    SCRIPT: MakerNeeds("whatever a script of the project writes", {RUN: str}, any_options=True),
}
"""The needs of each maker, by its name."""
