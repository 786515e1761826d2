"""The parameters that Triton's native PyTorch backend reads: what each does, in which releases, and on the CPU.

Sources: README of triton-inference-server/pytorch_backend, "Parameters", and ParseParameters in src/libtorch.cc on its
branches r22.07 to r26.05.
"""

from typing import NamedTuple


class Parameter(NamedTuple):
    """``default``: a switch that is on or off, or a number. ``since``, ``until``: the first and the last release that
    reads it, "" where all do. ``without_effect``: why it has none on the CPU; "" where it has one."""

    does: str
    default: bool | int
    since: str = ""
    until: str = ""
    without_effect: str = ""


GPU = "it is about the memory or the kernels of a GPU"
PARAMETERS = {
    "INFERENCE_MODE": Parameter("torch's inference mode, without what gradients and views need", True),
    "DISABLE_OPTIMIZED_EXECUTION": Parameter("no optimization of TorchScript, which makes first runs long", False),
    "ENABLE_JIT_EXECUTOR": Parameter("the executor of TorchScript that profiles", True),
    "ENABLE_JIT_PROFILING": Parameter("profiles of first runs, by which TorchScript is optimized", True),
    "ENABLE_TENSOR_FUSER": Parameter("one kernel of several operators, by NNC", True),
    "INTRA_OP_THREAD_COUNT": Parameter("threads within an operator", 0, since="24.05"),
    "INTER_OP_THREAD_COUNT": Parameter("threads for operators", 0, since="24.05"),
    "DISABLE_CUDNN": Parameter("no cuDNN", False, since="24.06", without_effect=GPU),
    "ENABLE_CACHE_CLEANING": Parameter("memory of the GPU is freed after each run", False, without_effect=GPU),
    "ENABLE_NVFUSER": Parameter("one kernel of several operators", False, "", "23.11", "torch no longer has nvFuser"),
    "ENABLE_WEIGHT_SHARING": Parameter("instances share weights", False, without_effect="each instance is a process"),
}
SWITCHES = tuple(key for key, row in PARAMETERS.items() if isinstance(row.default, bool) and not row.without_effect)
"""The switches that have an effect on the CPU."""
