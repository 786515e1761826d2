"""The packages that the Python files of a model import from outside of it."""

from collections.abc import Iterator
from dataclasses import replace

from triton_ensembles.checking.python.source import (
    UTILS,
    Import,
    PythonFile,
    adds_folders,
    all_files,
    is_deeper,
    is_local,
    model_files,
)
from triton_ensembles.checking.repository import Model

# What the stub itself provides: python_backend r24.10 pb_stub.cc.
_OF_THE_STUB = frozenset({UTILS, "c_python_backend_utils"})
UNLESS_ELSEWHERE = ", unless a folder that model.py adds to sys.path has it"
# Packages that are installed under another name than they are imported.
PROVIDERS = {
    "PIL": "pillow", "attr": "attrs", "bs4": "beautifulsoup4", "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil", "dotenv": "python-dotenv", "faiss": "faiss-cpu", "google": "protobuf",
    "skimage": "scikit-image", "sklearn": "scikit-learn", "yaml": "pyyaml",
}  # fmt: skip


def imported(model: Model) -> Iterator[tuple[PythonFile, Import]]:
    """The packages from outside of the model, each once per file."""
    for first in model_files(model):
        files = all_files(model, first)
        elsewhere = adds_folders(files)
        for file in files:
            seen: set[tuple[str, bool]] = set()
            for module in file.imports:
                if module.package in _OF_THE_STUB or not module.certain or (module.package, module.later) in seen:
                    continue
                seen.add((module.package, module.later))
                if not is_local(model, first, module.package) and not (elsewhere and is_deeper(model, module.package)):
                    yield file, replace(module, elsewhere=elsewhere)
