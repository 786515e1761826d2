"""A new small ensemble: a Python step, an ONNX network that a script makes, and a Python step."""

from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.project.location import ENSEMBLES
from triton_ensembles.starter.draft import draft, refuse_existing, write_texts
from triton_ensembles.starter.names import check_name
from triton_ensembles.starter.project import project_texts
from triton_ensembles.starter.templates import rendered


@dataclass(frozen=True)
class Written:
    """The written files.

    Attributes:
        paths: of the new files, in the folder of the project.
        kept: files of a whole project that were there before.
    """

    paths: tuple[str, ...]
    kept: tuple[str, ...] = ()


def write_small_ensemble(root: Path, name: str, *, whole: bool) -> Written:
    """Write the ensemble ``name`` into the project ``root``; with ``whole``, also the files of a project. Raises
    :class:`EnsembleError`: the name cannot be used, or a file is in the way. Nothing was written."""
    check_name(name)
    texts = rendered("ensemble", name)
    refuse_existing(root, [f"{ENSEMBLES}/{name}", *texts], "choose another name, or move it away")
    project, kept = project_texts(root, name, ["python", "onnxruntime"], makes_onnx=True) if whole else ({}, [])
    with draft(root, name) as folder:
        write_texts(folder, texts | project)
    return Written((*texts, *project), tuple(kept))
