"""The backend and the file of the version folder that Triton will use for a model.

After core r24.10 model_config_utils.cc AutoCompleteBackendFields, which runs whether auto-completion is on or off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from triton_ensembles.archive.tree import Tree, join
from triton_ensembles.triton.backends import KNOWN, TENSORFLOW_FILES
from triton_ensembles.triton.model_config import ModelConfig


@dataclass(frozen=True)
class Backend:
    """The backend of a model."""

    name: str
    platform: str
    file: str  # what each version folder must have; "" when that is not known (custom backends)
    inferred: bool = False  # the config names no backend, and the files of the version folder determined it


def choose_backend(config: ModelConfig, tree: Tree, root: str, folder: str, is_ensemble: Callable[[], bool]) -> Backend:
    """The backend, platform and file that Triton chooses for the model ``folder`` at ``root`` of a repository's tree;
    ``name`` is "" when it cannot."""
    name, platform, file = config.backend, config.platform, config.default_model_filename
    content = _first_version(tree, root)
    open_choice = not platform and not file
    inferred = not name
    if not platform and name in ("", "tensorflow"):
        for candidate, known in TENSORFLOW_FILES.items():
            if file == known or (not file and known in content and content[known] == (known == "model.savedmodel")):
                platform = candidate
    if platform in TENSORFLOW_FILES:
        return Backend(name or "tensorflow", platform, file or TENSORFLOW_FILES[platform], inferred)
    if not name:
        name = next((candidate for candidate in KNOWN if _fits(candidate, platform, file, open_choice, content)), "")
    if name in KNOWN and name != "tensorflow":
        platforms, known = KNOWN[name]
        script = name == "pytorch" and config.runtime == "model.py"
        platform = platform or (platforms[0] if platforms else "")
        return Backend(name, platform, file or ("" if script else known), inferred)
    if not name and open_choice and not is_ensemble():
        name = folder.partition(".")[2]  # model.identity: the narrow case of a custom backend
        file = f"model.{name}" if name else ""
    if name == "dali":
        file = file or "model.dali"
    return Backend(name, platform, file, inferred)


def _fits(candidate: str, platform: str, file: str, open_choice: bool, content: dict[str, bool]) -> bool:
    platforms, known = KNOWN[candidate]
    if not known:
        return False
    may_be_folder = candidate in ("onnxruntime", "openvino", "python")  # as core has it
    fits = open_choice and known in content and (may_be_folder or not content[known])
    return platform in platforms or file == known or fits


def _first_version(tree: Tree, root: str) -> dict[str, bool]:
    """The content of the model's first folder, by name, and whether each is a folder: Triton looks only at that one."""
    folders = tree.folders(root)
    first = join(root, folders[0]) if folders else ""
    return {name: tree.is_folder(join(first, name)) for name in tree.children(first)} if folders else {}
