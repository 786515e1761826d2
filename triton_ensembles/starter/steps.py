"""The packages that the Python steps of an ensemble need."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from triton_ensembles.checking.imported_packages import PROVIDERS
from triton_ensembles.checking.repository import Repository
from triton_ensembles.checking.rule import ANYWHERE
from triton_ensembles.checking.rules.model_py.step_imports import missing_imports
from triton_ensembles.checking.text.unknown import UnknownValueError

# Packages that are installed under the name by which they are imported. Any other name may be a module of the author's
# own, and what an index has under it somebody else's.
_KNOWN = frozenset({
    "albumentations", "attrs", "cv2", "emoji", "ftfy", "httpx", "jieba", "joblib", "librosa", "lightgbm", "nltk",
    "omegaconf", "onnx", "onnxruntime", "orjson", "pandas", "pydantic", "pyclipper", "pydub", "regex", "requests",
    "safetensors", "scipy", "sentencepiece", "shapely", "snowballstemmer", "soundfile", "spacy", "tiktoken", "timm",
    "tokenizers", "torch", "torchaudio", "torchvision", "tqdm", "transformers", "xgboost", *PROVIDERS,
})  # fmt: skip
Required = Mapping[str, tuple[Requirement, Path]]
"""The requirements in the files beside a repository, by canonical name, and the file of each."""

_REQUIREMENTS = "*requirements*.txt"
_EXACT_SERIES = re.compile(r"==(.+)\.\*")  # of pip; conda writes ==2.2.* as =2.2
_MOST_FILES, _LARGEST = 20, 1 << 20


@dataclass
class Packages:
    """The packages that steps import, and that neither Python nor they have."""

    steps: list[str] = field(default_factory=list)  # those that get the packages
    requirements: dict[str, str] = field(default_factory=dict)  # for an environment file
    pinned: dict[str, Path] = field(default_factory=dict)  # where each version was found
    unknown: dict[str, list[str]] = field(default_factory=dict)  # by step, the modules of which nothing is known


def packages_of(repository: Repository, required: Required) -> Packages:
    """The packages that the steps of ``repository`` need. ``required``: as :func:`requirements_near` finds it."""
    packages = Packages()
    for model in repository.models_read:
        try:
            modules = {missing.package for _, missing, _ in missing_imports(model, ANYWHERE) if not missing.elsewhere}
        except UnknownValueError:
            continue
        for module in sorted(modules):
            name = canonicalize_name(PROVIDERS.get(module, module))
            if module not in _KNOWN and name not in required:
                packages.unknown.setdefault(model.folder, []).append(module)
                continue
            if model.folder not in packages.steps:
                packages.steps.append(model.folder)
            requirement, path = required.get(name, (None, None))
            clauses = sorted(map(str, requirement.specifier if requirement else ()))
            versions = ",".join(_EXACT_SERIES.sub(r"=\1", clause) for clause in clauses)
            packages.requirements[name] = f"{name}{versions}"
            if versions and path:
                packages.pinned[name] = path
    return packages


def requirements_near(folder: Path, highest: Path) -> Required:
    """The lines of requirements.txt from ``folder`` up to ``highest``, the nearest file first, by canonical name."""
    requirements: dict[str, tuple[Requirement, Path]] = {}
    places = [folder, *(parent for parent in folder.parents if parent == highest or highest in parent.parents)]
    for path in [file for place in places for file in sorted(place.glob(_REQUIREMENTS))][:_MOST_FILES]:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            continue
        for line in path.read_text("utf-8", errors="replace").splitlines():
            try:
                requirement = Requirement(re.sub(r"(^|\s)#.*", "", line).strip())
            except InvalidRequirement:
                continue
            if not requirement.url:
                requirements.setdefault(canonicalize_name(requirement.name), (requirement, path))
    return requirements
