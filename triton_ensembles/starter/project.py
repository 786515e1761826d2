"""A new small ensemble, and the project that it goes to: the one that there is, or a new one in an empty folder.

Their files are in templates/.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.location import ENSEMBLES, chosen_project, find_project
from triton_ensembles.starter.draft import draft, refuse_existing, write_texts
from triton_ensembles.starter.names import check_name, module_name
from triton_ensembles.starter.origin import requirement
from triton_ensembles.version import __version__

# What a folder may hold that is still empty: what hosting services put into a new repository, and hidden files.
_BEGINNING = re.compile(r"\.|(?:readme|license|licence|copying|notice)(?:\.|\Z)", re.IGNORECASE)

_FUSED = 'target = "fused" # a step calls other models, which only this form answers on SageMaker\n'
_ONNXRUNTIME, _ONNX = "onnxruntime==1.31.1", "onnx==1.23.2"  # as in the extra build, which has much more
_TEMPLATES = Path(__file__).parent / "templates"
_NAME = "NAME"  # in the names of files
# A template that is called .gitignore or pyproject.toml would already be one.
_HIDDEN, _TEMPLATE = "dot_", ".template"
_PLACE = re.compile(r"@([A-Z]+)@")


@dataclass
class Notes:
    """Lines for the user."""

    assumed: list[str] = field(default_factory=list)  # what was imported, and what was decided
    # what the user has to do before it builds, or before its answers can be trusted
    left: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Written:
    """The written files, with notes on what was imported."""

    paths: tuple[str, ...]  # of the new files, in the folder of the project
    kept: tuple[str, ...] = ()  # files of a whole project that were there before
    notes: Notes = field(default_factory=Notes)


def root_of(chosen: Path | None, working: Path) -> tuple[Path, bool]:
    """The folder of the project, and whether it is a new one: the folder that the user has ``chosen``, or where the
    ``working`` one lies. Raises :class:`EnsembleError`: there is no project, and the folder is not empty."""
    project = chosen_project(chosen) if chosen else find_project(working)
    if project is not None and (project / ENSEMBLES).is_dir():
        return project, False
    folder = chosen or working
    contents = [path.name for path in sorted(folder.iterdir()) if not _BEGINNING.match(path.name)]
    if contents:
        message = f"there is no project here or above, and this folder is not empty (it has {contents[0]})"
        cure = f"go to an empty folder for a whole project, or make the folder {ENSEMBLES}/ here for ensembles alone"
        raise EnsembleError(message, path=folder, cure=cure)
    return folder, True


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


def project_texts(
    root: Path, name: str, backends: Iterable[str], *, makes_onnx: bool, fuses: bool = False
) -> tuple[dict[str, str], list[str]]:
    """The files of a new project around the ensemble ``name``, and the paths of those that ``root`` already has. The
    ``backends`` of the ensemble, and whether a script of it ``makes_onnx``, decide what is installed; with ``fuses``
    the fused form is what the project builds."""
    values = {"REQUIREMENTS": requirements({*backends}, makes_onnx=makes_onnx), "TARGET": _FUSED if fuses else ""}
    texts = rendered("project", name, values)
    kept = [path for path in texts if (root / path).exists()]
    return {path: text for path, text in texts.items() if path not in kept}, kept


def requirements(backends: set[str], *, makes_onnx: bool) -> str:
    """The lines of requirements.txt, with no more engines than the backends need."""
    if backends - {"python", "ensemble", "onnxruntime"}:
        return requirement("[serve,build]")
    lines = [requirement("[serve]")]
    lines += [_ONNXRUNTIME] if "onnxruntime" in backends else []
    return "\n".join([*lines, _ONNX] if makes_onnx else lines)


def rendered(kind: str, name: str, values: Mapping[str, str] | None = None) -> dict[str, str]:
    """The texts of ``templates/KIND`` by their paths in a project.

    ``@NAME@`` in a text is the name of the ensemble, ``@VERSION@`` that of this package, and others are in ``values``.
    """
    known = {"NAME": name, "VERSION": __version__, **(values or {})}
    root = _TEMPLATES / kind
    return {
        _place(path.relative_to(root), name): _PLACE.sub(lambda found: known[found[1]], path.read_text("utf-8"))
        for path in sorted(root.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_of(name: str) -> str:
    """The path of the test of an ensemble in a project."""
    return f"tests/test_{module_name(name)}.py"


def _place(path: Path, name: str) -> str:
    if path.name == f"test_{_NAME}.py":
        return test_of(name)
    parts = [name if part == _NAME else part.removesuffix(_TEMPLATE) for part in path.parts]
    if path.stem == _NAME:
        parts[-1] = f"{name}{path.suffix}"
    return "/".join(f".{part.removeprefix(_HIDDEN)}" if part.startswith(_HIDDEN) else part for part in parts)
