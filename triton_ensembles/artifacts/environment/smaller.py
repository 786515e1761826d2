"""Packages that bring what a CPU has no use for, and their smaller forms."""

from collections.abc import Iterable, Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_CUDA = "brings CUDA with it, which is gigabytes"
_TORCH = "PyTorch's index for the CPU: --extra-index-url and its address, as pytorch.org says it"
_OF_TORCH = (f"requires torch, which {_CUDA}", _TORCH)
_ON_TORCH = (
    *("accelerate", "easyocr", "flair", "kornia", "openai-whisper", "peft", "pytorch-lightning"),
    *("sentence-transformers", "stanza", "timm", "torchaudio", "torchvision", "ultralytics"),
)
_GPU = "computes on an NVIDIA GPU alone"
_FORMS = {
    "torch": (_CUDA, _TORCH),
    **dict.fromkeys(_ON_TORCH, _OF_TORCH),
    **dict.fromkeys((f"cupy-cuda{version}x" for version in (11, 12, 13)), (_GPU, "numpy")),
    **dict.fromkeys(("faiss-gpu", "faiss-gpu-cu11", "faiss-gpu-cu12"), (_GPU, "faiss-cpu")),
    "tensorflow": ("has more than serving needs", "tensorflow-cpu"),
    "xgboost": ("brings NCCL with it, which is most of its size", "xgboost-cpu"),
    "onnxruntime-gpu": (_CUDA, "onnxruntime"),
    "paddlepaddle-gpu": (_CUDA, "paddlepaddle"),
    "opencv-python": ("needs libGL of the system, which an image may lack", "opencv-python-headless"),
    "opencv-contrib-python": ("needs libGL of the system, which an image may lack", "opencv-contrib-python-headless"),
}


def smaller_forms(requirements: Iterable[str], options: Iterable[str] = ()) -> Iterator[str]:
    """Yield a sentence for each requirement that has a smaller form for a CPU. None is about one of an index that
    ``options`` of pip name, or of a local version (``+cpu``)."""
    chosen = any("index-url" in option for option in options)
    for text in requirements:
        asked = Requirement(text)
        what, instead = _FORMS.get(canonicalize_name(asked.name), _OF_TORCH if "torch" in asked.extras else ("", ""))
        if what and "+" not in text and not chosen:
            yield f"{text} of PyPI {what}; for a CPU there is {instead}"
