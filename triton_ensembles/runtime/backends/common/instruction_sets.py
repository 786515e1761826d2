"""The instruction sets of this processor that decide how engines compute."""

from pathlib import Path

# What decides the kernels of ONNX Runtime's CPU provider on x86 (onnxruntime/core/mlas/lib/platform.cpp) and on Arm.
_DECISIVE = frozenset(
    {"sse4_1", "avx", "avx2", "fma", "f16c", "avx_vnni"}
    | {f"avx512{name}" for name in ("f", "bw", "cd", "dq", "vl", "_vnni", "_bf16", "_fp16")}
    | {f"amx_{name}" for name in ("tile", "int8", "bf16", "fp16")}
    | {"asimd", "asimddp", "asimdhp", "i8mm", "bf16", "sve", "sve2", "sme", "sme2"}
)


def instruction_sets() -> list[str]:
    """The instruction sets of this processor that decide the kernels, by the names of /proc/cpuinfo."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, flags = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return sorted(_DECISIVE.intersection(flags.split()))
    return []


def computes_int8() -> bool:
    """Return whether this processor multiplies int8 faster than fp32: VNNI, AMX, or Arm's dot products."""
    return not {"avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm"}.isdisjoint(instruction_sets())
