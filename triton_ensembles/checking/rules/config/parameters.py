"""Labels, metric tags and parameters that Triton reads when it loads a model; it ignores those of other names."""

import posixpath
import re
from collections.abc import Iterator
from functools import partial

from triton_ensembles.checking.examples import IDENTITY, io_tensor, parameter, python_model
from triton_ensembles.checking.field_rule import Path, field_rule
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.source import every_file
from triton_ensembles.checking.rule import Destination, Example, Finding, Model, Server, rule, warning
from triton_ensembles.ground.spelling import nearest, only_near
from triton_ensembles.runtime.backends.pytorch import parameters

# prometheus-cpp CheckLabelName: letters, digits and _, no digit first, and no __ first (Prometheus's own labels).
# It also takes an empty name.
_LABEL = re.compile(r"(?:(?!__)[A-Za-z_][A-Za-z0-9_]*)?\Z")
STRATEGY = "TRITON_BATCH_STRATEGY_PATH"
_LABELLED = io_tensor("Y", more='label_filename: "labels.txt"')


_WITH_LABELS = Example(python_model(outputs=_LABELLED), {"1/model.py": IDENTITY, "labels.txt": "cat\ndog\n"})


@rule(
    "label_filename names a file in the model's folder",
    source="core r24.10 model.cc Model::Init, label_provider.cc AddLabels",
    bad=python_model(outputs=_LABELLED),
    good=_WITH_LABELS,
    words="failed to open text file for read …",
)
def label_file_missing(model: Model) -> Iterator[Finding]:
    for index, output in enumerate(model.config.output):
        name = output.label_filename.lstrip("/")
        entry = model.named(name) if name else None
        if entry and entry.is_folder:
            effect = "tritonserver aborts when it loads the model"
            place = model.at("output", index, "label_filename")
            yield Finding(place, f"{name} is a folder", effect, "name the file with the labels")
        elif name and not (entry or model.is_made(posixpath.normpath(name))):
            message = f"there is no file {name} in the folder of '{model.name}'"
            cure = f"put it into {model.folder}/ (not into a version folder)"
            yield Finding(model.at("output", index, "label_filename"), message, cure=cure)


PARAMETERS = {
    "python": ("EXECUTION_ENV_PATH", "FORCE_CPU_ONLY_INPUT_TENSORS"),
    "pytorch": tuple(parameters.PARAMETERS),
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
    "Parameters of Triton and of its backends are spelled as these read them, in the server's release",
    source="backends r24.10: python_be.cc, libtorch.cc, onnxruntime.cc, tensorflow.cc, READMEs of the others",
    bad=python_model(parameter("FORCE_CPU_ONLY_INPUT_TENSOR", "no")),
    good=python_model(parameter("FORCE_CPU_ONLY_INPUT_TENSORS", "no"), parameter("threshold", "0.5")),
)
def parameter_misspelled(model: Model, destination: Destination) -> Iterator[Finding]:
    server, of_torch = destination.release_name, parameters.PARAMETERS if model.backend.name == "pytorch" else {}
    for key, row in of_torch.items():
        if key in model.config.parameters and not row.since <= server <= (row.until or server):
            when = f"until release {row.until}" if row.until else f"since release {row.since}"
            message = f"Triton reads '{key}' ({row.does}) {when}, and the server is {server}"
            yield Finding(model.at("parameters", key, "key"), message, "Triton ignores it", "delete the parameter")
    known = (*PARAMETERS.get(model.backend.name, ()), STRATEGY)
    for key in sorted(model.config.parameters):
        meant = None if key in known else nearest(key, known)
        if meant and meant not in model.config.parameters and not _is_own(model, key):
            message = f"Triton knows no parameter '{key}'"
            effect = "Triton ignores it"
            edits = model.file.renamed("parameters", key, "key", to=only_near(key, known))
            cure = f'did you mean key: "{meant}"?'
            yield Finding(model.at("parameters", key, "key"), message, effect, cure, edits=edits)


def _is_own(model: Model, key: str) -> bool:
    """Return whether a Python file of the model names the parameter, and so reads it."""
    return any(file.module is None or flow_of(file).is_used(key) for file in every_file(model))


def _parameter(key: str, model: Model) -> Iterator[tuple[Path, str]]:
    if key in model.config.parameters:
        yield ("parameters", key, "value"), model.config.parameters[key].string_value


def _tags(model: Model) -> Iterator[tuple[Path, str]]:
    return ((("metric_tags", key), key) for key in sorted(model.config.metric_tags))


# fmt: off
field_rule("metric-tag-name", "A metric tag has a name that Prometheus accepts",
           source="prometheus-cpp throws std::invalid_argument, which nothing catches; measured on tritonserver 2.51.0",
           at=(_tags, "key"), when=lambda key: not _LABEL.match(key) and (
               re.sub(r"[^A-Za-z0-9_]", "_", key).lstrip("_0123456789") or "tag"),
           says="'{item}' is not a valid name for a metric tag", cure='write key: "{wrong}"',
           effect="tritonserver crashes when it loads the model",
           bad=python_model('metric_tags { key: "cost-center", value: "7" }'),
           good=python_model('metric_tags { key: "cost_center", value: "7" }'), server=Server.DIES)

field_rule("force-cpu-only-value", "FORCE_CPU_ONLY_INPUT_TENSORS is yes or no",
           source="python_backend r24.10 python_be.cc ModelState",
           models=lambda model: model.is_python,
           at=(partial(_parameter, "FORCE_CPU_ONLY_INPUT_TENSORS"), "string_value"),
           when=lambda value: value not in ("yes", "no") and ("yes" if value.lower() in ("true", "1", "on") else "no"),
           says="FORCE_CPU_ONLY_INPUT_TENSORS is '{item}'", cure='write string_value: "{wrong}"',
           bad=python_model(parameter("FORCE_CPU_ONLY_INPUT_TENSORS", "false")),
           good=python_model(parameter("FORCE_CPU_ONLY_INPUT_TENSORS", "no")),
           words="Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: …")
