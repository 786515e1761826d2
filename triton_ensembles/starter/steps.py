"""The packages that the Python steps of an ensemble need."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from triton_ensembles.checking.environments import has_stub, reference
from triton_ensembles.checking.image_packages import image_modules
from triton_ensembles.checking.imported_packages import PROVIDERS
from triton_ensembles.checking.packages import packages_of as packages_beside
from triton_ensembles.checking.repository import Repository
from triton_ensembles.checking.rule import ANYWHERE
from triton_ensembles.checking.rules.model_py.step_imports import missing_imports
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.spelling import most_of
from triton_ensembles.triton.requirements import Declared, Requirements

# Packages that are installed under the name by which they are imported. Any other name may be a module of the author's
# own, and what an index has under it somebody else's.
_KNOWN = frozenset({
    "albumentations", "attrs", "cv2", "emoji", "ftfy", "httpx", "jieba", "joblib", "librosa", "lightgbm", "nltk",
    "omegaconf", "onnx", "onnxruntime", "orjson", "pandas", "pydantic", "pyclipper", "pydub", "regex", "requests",
    "safetensors", "scipy", "sentencepiece", "shapely", "snowballstemmer", "soundfile", "spacy", "tiktoken", "timm",
    "tokenizers", "torch", "torchaudio", "torchvision", "tqdm", "transformers", "xgboost", *PROVIDERS,
})  # fmt: skip


@dataclass
class Packages:
    """The packages of Python steps for which the same is declared, and that have no environment of their own."""

    steps: list[str]
    declared: Declared | None
    name: str = "steps"  # of the environment in the recipe
    file: str = ""  # the environment file
    proposed: list[str] = field(default_factory=list)  # what is declared nowhere, only imported
    unknown: dict[str, list[str]] = field(default_factory=dict)  # by step, the modules of which nothing is known

    @property
    def requirements(self) -> list[str]:
        """The packages that the environment file asks pip for, with the options for its indexes."""
        asked = self.declared.asked if self.declared else Requirements()
        limits = [line for line in asked.constraints if canonicalize_name(Requirement(line).name) in asked.names]
        return [*asked.options, *asked.texts, *limits, *self.proposed]

    def left(self) -> list[str]:
        """The work that is left for steps that import modules of which nothing is known."""
        place = self.declared.place if self.declared else self.file if self.requirements else "a requirements.txt"
        cure = f"copy it beside model.py, or add its package to {place}"
        return [f"{step} imports {most_of(unknown, 8)}: {cure}" for step, unknown in self.unknown.items()]


def packages_of(repository: Repository, declared: Mapping[str, Declared | None], ensemble: str) -> list[Packages]:
    """The packages that the steps of ``repository`` need: all that are ``declared`` for each, if one of them imports
    any, and a proposal for imports of others. They get a file for each declaration, by the name of the ensemble."""
    groups: dict[Declared | None, Packages] = {}
    needy = set()
    for model in repository.models_read:
        try:
            missing = [module for _, module, _ in missing_imports(model, ANYWHERE)]
            if not model.is_python or reference(model) or has_stub(model) or packages_beside(model):
                continue
        except UnknownValueError:
            continue
        asked = declared.get(model.folder)
        packages = groups.setdefault(asked, Packages([], asked))
        packages.steps.append(model.folder)
        needy |= {asked} if missing else set()
        brought = image_modules(ANYWHERE, asked).names
        for module in sorted({each.package for each in missing if brought.isdisjoint(each.alternatives)}):
            if module in _KNOWN:
                packages.proposed.append(canonicalize_name(PROVIDERS.get(module, module)))
            elif not all(each.elsewhere for each in missing if each.package == module):
                packages.unknown.setdefault(model.folder, []).append(module)
    found = [packages for asked, packages in groups.items() if asked in needy]
    for packages in found:
        packages.name = "steps" if len(found) == 1 else packages.steps[0]
        packages.file = f"envs/{ensemble}.yml" if len(found) == 1 else f"envs/{ensemble}-{packages.steps[0]}.yml"
        packages.proposed = sorted({*packages.proposed})
    return found
