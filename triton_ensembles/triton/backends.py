"""Triton's table of backends: their platforms, and the file that each loads from a version folder.

Source: core r24.10, constants.h and model_config_utils.cc (AutoCompleteBackendFields).
"""

ENSEMBLE = "ensemble"
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
PLATFORMS: dict[str, str] = {platform: name for name, (platforms, _) in KNOWN.items() for platform in platforms}
PLATFORM_OF = {name: platforms for name, (platforms, _) in KNOWN.items() if platforms}
# Backends that NVIDIA publishes; a custom one may have any other name.
BACKENDS = (*KNOWN, "dali", "fil", "vllm", "tensorrtllm", "identity", "repeat", "square", "armnn_tflite")
