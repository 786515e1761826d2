"""What differs between targets, stated once. The ensembles in git are written for the gpu target's native backends.

cpu: the pip-only server. DALI decodes on the CPU, every instance is KIND_CPU, and the recipe says which engine runs a
model: OpenVINO, ONNX Runtime (which stands in for TensorRT where the recipe is silent) or TensorFlow. OpenVINO and ONNX
Runtime join requests of different lengths where a config says that padding is masked.
"""

from __future__ import annotations

from dataclasses import dataclass

from triton_ensembles.modelconfig import ModelConfig, ModelInstanceGroup
from triton_ensembles.recipe import Engine

# What a config says beside `backend` to have the file read in the right way; OpenVINO's backend has no platform.
_PLATFORMS = {"onnxruntime": "onnxruntime_onnx", "tensorflow": "tensorflow_graphdef"}


@dataclass(frozen=True)
class Target:
    """One place to run.

    Attributes:
        platforms: platforms of git's configs that this target replaces.
        instance_kind: what KIND_GPU becomes.
        dali_device: the device of ``fn.decoders.image``, "cpu" or "mixed".
        pads_batches: whether its engine pads requests of different lengths to one batch (backends/common/padding.py);
            NVIDIA's native backends string ragged rows together instead, and must not be given any.
        chooses_engines: whether the recipe's engines are meant for it.
    """

    name: str
    platforms: dict[str, str]
    instance_kind: int
    dali_device: str
    pads_batches: bool
    chooses_engines: bool

    def adapt(self, config: ModelConfig) -> None:
        """Rewrite one step's config in place for this target."""
        config.platform = self.platforms.get(config.platform, config.platform)
        for group in config.instance_group:
            if group.kind == ModelInstanceGroup.KIND_GPU:
                group.kind = self.instance_kind
                # Triton starts two instances of a KIND_CPU group that states no count.
                group.count = group.count or 1
        if self.pads_batches and _is_true(config, "padded_batching"):
            for tensor in config.input:
                tensor.allow_ragged_batch = -1 in tensor.dims

    def choose_engine(self, config: ModelConfig, engine: Engine, file: str) -> None:
        """Have the recipe's ``engine`` run the step's ``file``."""
        if not self.chooses_engines:
            return
        config.backend = engine.backend
        config.platform = _PLATFORMS.get(engine.backend, "")
        config.default_model_filename = file
        for group in config.instance_group:
            group.count = engine.instances
        if engine.precision == "bf16":
            config.parameters["HINT_BF16"].string_value = "YES"


CPU = Target(
    name="cpu",
    platforms={"tensorrt_plan": "onnxruntime_onnx"},
    instance_kind=ModelInstanceGroup.KIND_CPU,
    dali_device="cpu",
    pads_batches=True,
    chooses_engines=True,
)

TARGETS = {target.name: target for target in (CPU,)}


def _is_true(config: ModelConfig, parameter: str) -> bool:
    # Asking a protobuf map for a key that it lacks would add the key.
    return parameter in config.parameters and config.parameters[parameter].string_value == "true"
