"""Names in ``parameters``: Triton ignores what it does not know, so a misspelled one does nothing."""

from collections.abc import Iterator

from triton_ensembles.checking.examples import parameter, python_model
from triton_ensembles.checking.python.source import every_file
from triton_ensembles.checking.rule import Finding, Model, warning
from triton_ensembles.ground.spelling import nearest

OF_EVERY_MODEL = ("TRITON_BATCH_STRATEGY_PATH",)
PARAMETERS = {
    "python": ("EXECUTION_ENV_PATH", "FORCE_CPU_ONLY_INPUT_TENSORS"),
    "pytorch": (
        "DISABLE_OPTIMIZED_EXECUTION", "ENABLE_CACHE_CLEANING", "INFERENCE_MODE", "DISABLE_CUDNN",
        "ENABLE_TENSOR_FUSER", "ENABLE_WEIGHT_SHARING", "ENABLE_JIT_PROFILING", "ENABLE_JIT_EXECUTOR",
        "INTRA_OP_THREAD_COUNT", "INTER_OP_THREAD_COUNT",
    ),
    "onnxruntime": (
        "intra_op_thread_count", "inter_op_thread_count", "execution_mode", "enable_mem_arena", "enable_mem_pattern",
        "memory.enable_memory_arena_shrinkage", "cudnn_conv_algo_search", "gpu_mem_limit", "arena_extend_strategy",
        "do_copy_in_default_stream",
    ),
    "tensorflow": (
        "TF_NUM_INTRA_THREADS", "TF_NUM_INTER_THREADS", "TF_USE_PER_SESSION_THREADS", "TF_GRAPH_TAG",
        "TF_SIGNATURE_DEF", "TF_INIT_OPS_FILE", "MAX_SESSION_SHARE_COUNT",
    ),
    "openvino": (
        "CPU_EXTENSION_PATH", "INFERENCE_NUM_THREADS", "NUM_STREAMS", "SKIP_OV_DYNAMIC_BATCHSIZE",
        "ENABLE_BATCH_PADDING", "RESHAPE_IO_LAYERS",
    ),
    "dali": ("num_threads",),
}  # fmt: skip


@warning(
    "Parameters of Triton and of its backends are spelled as these read them",
    source="backends r24.10: python_be.cc, libtorch.cc, onnxruntime.cc, tensorflow.cc, READMEs of the others",
    bad=python_model(parameter("FORCE_CPU_ONLY_INPUT_TENSOR", "no")),
    good=python_model(parameter("FORCE_CPU_ONLY_INPUT_TENSORS", "no"), parameter("threshold", "0.5")),
)
def parameter_misspelled(model: Model) -> Iterator[Finding]:
    known = (*PARAMETERS.get(model.backend.name, ()), *OF_EVERY_MODEL)
    for key in sorted(model.config.parameters):
        meant = None if key in known else nearest(key, known)
        if meant and meant not in model.config.parameters and not _is_own(model, key):
            message = f"Triton knows no parameter '{key}'"
            effect = "Triton ignores it"
            yield Finding(model.at("parameters", key, "key"), message, effect, f'did you mean key: "{meant}"?')


def _is_own(model: Model, key: str) -> bool:
    """Whether a Python file of the model names the parameter, and so reads it."""
    return any(key.encode() in file.data for file in every_file(model))
