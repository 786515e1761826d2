"""Triton's table of backends: their platforms, and the file that each loads from a version folder.

Source: core r24.10, constants.h and model_config_utils.cc (AutoCompleteBackendFields).
"""

from triton_ensembles.ground.spelling import nearest

ENSEMBLE = "ensemble"
# The branches of NVIDIA's repositories that were compared: build.py of the server, and the stub of the Python backend.
SERVER_BRANCHES, STUB_BRANCHES = "r22.07 to r26.08", "r22.07 to r26.07"
TENSORRT_PLATFORM = "tensorrt_plan"

# backend -> (its platforms, the default name of its model file)
KNOWN: dict[str, tuple[tuple[str, ...], str]] = {
    "tensorflow": (("tensorflow_graphdef", "tensorflow_savedmodel"), ""),
    "tensorrt": ((TENSORRT_PLATFORM,), "model.plan"),
    "onnxruntime": (("onnxruntime_onnx",), "model.onnx"),
    "openvino": ((), "model.xml"),
    "pytorch": (("pytorch_libtorch",), "model.pt"),
    "python": ((), "model.py"),
}
TENSORFLOW_FILES = {"tensorflow_savedmodel": "model.savedmodel", "tensorflow_graphdef": "model.graphdef"}
# dali_backend dali_model.h: a pipeline as Python is read where there is no serialized one.
FALLBACK_FILES = {"dali": ("dali.py",)}
# Those that load a file by its name; identity, repeat and square read none, and custom ones may do as they like.
LOADS_FILE = (*KNOWN, "dali", "fil")
PLATFORMS: dict[str, str] = {platform: name for name, (platforms, _) in KNOWN.items() for platform in platforms}
PLATFORM_OF = {name: platforms for name, (platforms, _) in KNOWN.items() if platforms}
# Backends that NVIDIA publishes; a custom one may have any other name.
BACKENDS = (*KNOWN, "dali", "fil", "vllm", "tensorrtllm", "identity", "repeat", "square", "armnn_tflite")
# Those of its examples and of projects that ended: people build them themselves.
UNBUNDLED = ("fastertransformer", "stateful", "hugectr", "hps", "minimal", "recommended", "bls", "iterative_sequence")
# What people write for them.
_ALIASES = {
    "onnx": "onnxruntime", "ort": "onnxruntime", "onnx_runtime": "onnxruntime", "trt": "tensorrt",
    "torch": "pytorch", "libtorch": "pytorch", "torchscript": "pytorch", "pt": "pytorch", "py": "python",
    "python3": "python", "tf": "tensorflow", "savedmodel": "tensorflow", "saved_model": "tensorflow",
    "graphdef": "tensorflow", "ov": "openvino", "trtllm": "tensorrtllm", "tensorrt_llm": "tensorrtllm",
    "trt_llm": "tensorrtllm", "nvidia_dali": "dali", "xgboost": "fil", "lightgbm": "fil", "forest": "fil",
    "sklearn": "python", "scikit_learn": "python", "transformers": "python", "huggingface": "python",
    ENSEMBLE: ENSEMBLE,
}  # fmt: skip


def backend_meant(name: str) -> str | None:
    """The backend that ``name`` probably stands for: another name of it, one of its platforms, or a misspelling."""
    key = name.lower().replace("-", "_")
    if name in BACKENDS or name in UNBUNDLED:
        return None
    return _ALIASES.get(key) or PLATFORMS.get(key) or nearest(name, BACKENDS)
