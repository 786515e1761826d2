"""The table of model formats: which backend, of which platform, loads a file of which name. All else is read from it.

Sources: core r24.10 constants.h and model_config_utils.cc (AutoCompleteBackendFields); dali_backend dali_model.h;
openvino_backend, which also reads ONNX and TensorFlow.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelFormat:
    """A format of model files.

    Attributes:
        suffix: the end of a file's name; how the checker's readers are found (:mod:`checking.model_files.read`).
        noun: the words for a file, with an article.
        backend: the one that Triton chooses for it.
        platform: the older name of this choice; "" where there is none.
        also: other backends that load it.
        made: whether the build can make it.
    """

    suffix: str
    noun: str
    backend: str
    platform: str = ""
    also: tuple[str, ...] = ()
    made: bool = True

    @property
    def file(self) -> str:
        """The name that Triton looks for where a config names none."""
        return f"model{self.suffix}"


ONNX = ModelFormat(".onnx", "an ONNX model", "onnxruntime", "onnxruntime_onnx", also=("openvino",))
GRAPHDEF = ModelFormat(
    ".graphdef", "a frozen TensorFlow graph (GraphDef)", "tensorflow", "tensorflow_graphdef", also=("openvino",)
)
SAVED_MODEL = ModelFormat(
    ".savedmodel", "a TensorFlow SavedModel", "tensorflow", "tensorflow_savedmodel", made=False
)  # a folder
PLAN = ModelFormat(".plan", "a TensorRT plan", "tensorrt", "tensorrt_plan")
OPENVINO = ModelFormat(".xml", "an OpenVINO model", "openvino")
TORCHSCRIPT = ModelFormat(".pt", "a TorchScript module", "pytorch", "pytorch_libtorch")
DALI = ModelFormat(".dali", "a serialized DALI pipeline", "dali")
PYTHON = ModelFormat(".py", "a Python model", "python", made=False)

FORMATS = (GRAPHDEF, SAVED_MODEL, PLAN, ONNX, OPENVINO, TORCHSCRIPT, PYTHON, DALI)
TENSORFLOW = {form.platform: form for form in (SAVED_MODEL, GRAPHDEF)}
PLATFORMS = {form.platform: form.backend for form in FORMATS if form.platform}
"""The backend of each platform."""


def formats_of(backend: str) -> tuple[ModelFormat, ...]:
    """Return what the backend loads, its own formats first."""
    own = tuple(form for form in FORMATS if form.backend == backend)
    return own + tuple(form for form in FORMATS if backend in form.also)


def file_of(backend: str) -> str:
    """Return the name of the file that the backend looks for; "" where it depends on the platform, or is unknown."""
    own = [form.file for form in formats_of(backend) if form.backend == backend]
    return own[0] if own and backend != "tensorflow" else ""


def platforms_of(backend: str) -> tuple[str, ...]:
    """Return the platforms of the backend's own formats: TensorFlow has two, and some have none."""
    return tuple(platform for platform, of in PLATFORMS.items() if of == backend)


MADE_FOR = {
    backend: tuple(form.suffix for form in formats_of(backend) if form.made)
    for backend in dict.fromkeys(form.backend for form in FORMATS if form.made)
}
"""The ends of the names of the files that the build can make for each backend. A step may have several model files: the
backends of the target decide which of them is staged."""
