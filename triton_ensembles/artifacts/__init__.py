"""Makers: each module makes one kind of artifact. A recipe names them.

A maker is a module with ``TOOLS``, the packages whose versions decide its output, and ``make(job)``, which writes
``job.output`` and returns facts for the manifest. It runs in a process of its own (``run.py``), so that frameworks
neither meet each other nor stay in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton_ensembles.paths import ROOT

MAKERS = {
    "copy": "triton_ensembles.artifacts.copy",
    "member": "triton_ensembles.artifacts.member",
    "bert_onnx": "triton_ensembles.artifacts.bert_onnx",
    "dali_pipeline": "triton_ensembles.artifacts.dali_pipeline",
    "graphdef_onnx": "triton_ensembles.artifacts.graphdef_onnx",
    "inception_v3_random": "triton_ensembles.artifacts.inception_v3_random",
    "tensorrt_plan": "triton_ensembles.artifacts.tensorrt_plan",
    "resnet50_torchscript": "triton_ensembles.artifacts.resnet50_torchscript",
    "resnet50_random": "triton_ensembles.artifacts.resnet50_random",
    "numbered_labels": "triton_ensembles.artifacts.numbered_labels",
}

ACCURACY = {
    "sentences": "triton_ensembles.artifacts.accuracy_on_sentences",
    "photographs": "triton_ensembles.artifacts.accuracy_on_photographs",
}
"""Makers of another kind: they measure a made model in a lower precision, and fail when it is too far from fp32. A
module's ``READS`` are the other files of the project that decide what it measures."""

Facts = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """What a maker is given: where to write, the files of its source by name, its options.

    A maker whose module says ``DIFFERS_BY_DALI`` is told the target's DALI: the device that decodes images, "cpu" or
    "mixed", and the version that will read what is made, "" where that is the installed one or not known.
    """

    output: Path
    files: dict[str, Path]
    file: str | None
    options: dict[str, Any]
    dali_device: str
    dali_version: str
    root: Path = ROOT  # of the project; paths in options are relative to it
