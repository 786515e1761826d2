"""Packages that bring what a CPU has no use for, and their smaller forms."""

from collections.abc import Iterable, Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_CUDA = "brings CUDA with it, which is gigabytes"
_TORCH = "PyTorch's index for the CPU: --extra-index-url and its address, as pytorch.org says it"
_FORMS = {
    "torch": (_CUDA, _TORCH),
    **dict.fromkeys(
        ("accelerate", "easyocr", "openai-whisper", "sentence-transformers", "timm", "torchvision", "ultralytics"),
        (f"requires torch, which {_CUDA}", _TORCH),
    ),
    "tensorflow": ("has more than serving needs", "tensorflow-cpu"),
    "xgboost": ("brings NCCL with it, which is most of its size", "xgboost-cpu"),
    "onnxruntime-gpu": (_CUDA, "onnxruntime"),
    "opencv-python": ("needs libGL of the system, which an image may lack", "opencv-python-headless"),
    "opencv-contrib-python": ("needs libGL of the system, which an image may lack", "opencv-contrib-python-headless"),
}


def smaller_forms(requirements: Iterable[str], options: Iterable[str] = ()) -> Iterator[str]:
    """Yield a sentence for each requirement that has a smaller form for a CPU. None is about one of an index that
    ``options`` of pip name, or of a local version (``+cpu``)."""
    chosen = any("index-url" in option for option in options)
    for text in requirements:
        what, instead = _FORMS.get(canonicalize_name(Requirement(text).name), ("", ""))
        if what and "+" not in text and not chosen:
            yield f"{text} of PyPI {what}; for a CPU there is {instead}"
