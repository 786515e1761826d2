"""Configs in the styles of public projects, loaded into the real server as it is by default: it completes configs."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.checking.pieces import saved_model
from tests.checking.served import server_results
from triton_ensembles.checking import examples
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.examples import X, Y, ensemble, io_tensor, python_model, step
from triton_ensembles.checking.fault import Fault, Severity
from triton_ensembles.checking.rule import Example

# The test server has the python backend only: of the others it says this when nothing else is wrong.
NO_LIBRARY = "unable to find backend library"
CPU = "instance_group [ { kind: KIND_CPU } ]"
DYNAMIC = "dynamic_batching"
IDENTITY, COMPLETING, ONNX = examples.IDENTITY, examples.COMPLETING, examples.ONNX_IDENTITY
ALL = COMPLETING.replace(
    "return config",
    'config.add_output({"name": "Y", "data_type": "TYPE_FP32", "dims": [4]})\n'
    "        config.set_max_batch_size(8)\n        return config",
)


def example(config: str | None, **files: str) -> Example:
    """Files by their name in the version folder, with ``_`` for the dot."""
    return Example(config, {f"1/{name.replace('_', '.')}": text for name, text in files.items()} or {"1": None})


def lists(name: str, *tensors: str) -> str:
    return f"{name} [\n  {', '.join(tensors)}\n]\n"


BOTH = lists("input", X) + lists("output", Y)
MANY = ", ".join(io_tensor(f"Y{number}") for number in range(5000))
STYLES: Mapping[str, Example] = {
    "python-complete": example(f'name: "python-complete"\nbackend: "python"\n\n{BOTH}{CPU}', model_py=IDENTITY),
    "python-autocompletes": example('backend: "python"\n', model_py=ALL),
    "python-autocompletes-the-rest": example(python_model(inputs='{ name: "X" }'), model_py=COMPLETING),
    "python-autocompletes-more": example(python_model(inputs=io_tensor("W")), model_py=COMPLETING),
    "python-without-config": example(None, model_py=ALL),
    "python-with-half-a-tensor": example(python_model(inputs='{ name: "X" }'), model_py=IDENTITY),
    "python-without-max-batch": example(
        'backend: "python"\n' + lists("input", X) + "dynamic_batching { preferred_batch_size: [ 4 ] }", model_py=ALL
    ),
    "ensemble-of-autocompleted": Example(ensemble(
        step("python-autocompletes", {"X": "X"}, {"Y": "Z"}),
        step("python-autocompletes-more", {"X": "Z", "W": "X"}, {"Y": "Y"}),
    )),
    "onnx-without-tensors": example('name: "onnx-without-tensors"\nplatform: "onnxruntime_onnx"\n', model_onnx=ONNX),
    "onnx-only-batching": example(f'backend: "onnxruntime"\nmax_batch_size: 16\n{DYNAMIC} {{ }}\n', model_onnx=ONNX),
    "onnx-without-inputs": example('platform: "onnxruntime_onnx"\n' + lists("output", Y), model_onnx=ONNX),
    "ensemble-of-onnx": Example(ensemble(step("onnx-without-inputs", {"X": "X"}, {"Y": "Y"}), size=4)),
    "dali-script": example(
        'backend: "dali"\nmax_batch_size: 256\n'
        + lists("input", '{ name: "DALI_INPUT_0", data_type: TYPE_UINT8, dims: [ -1 ], allow_ragged_batch: true }')
        + lists("output", '{ name: "DALI_OUTPUT_0", data_type: TYPE_FP32, dims: [ 3, 224, 224 ] }')
        + 'parameters: [ { key: "num_threads" value: { string_value: "12" } } ]\n',
        dali_py="import nvidia.dali as dali\n",
    ),
    "dali-autoconfig": example('backend: "dali"\nmax_batch_size: 8\n' + lists("input", '{ name: "IN" }'), dali_py="#"),
    "identity": example(f'backend: "identity"\nmax_batch_size: 1\n{BOTH}{CPU}'),
    "pytorch": example(
        'platform: "pytorch_libtorch"\nmax_batch_size: 1024\n'
        + lists("input", '{ name: "input__0"\n data_type: TYPE_FP32\n dims: [ 3, 224, 224 ] }')
        + lists("output", io_tensor("output__0", dims="1, 1000 ,1, 1", more="reshape { shape: [ 1, 1000 ] }")),
        model_pt=examples.TORCHSCRIPT,
    ),
    "vllm": Example('backend: "vllm"\ninstance_group [ { count: 1 kind: KIND_MODEL } ]\n', {"1/model.json": "{ }"}),
    "forest": Example(
        'backend: "fil"\nmax_batch_size: 32768\n'
        + lists("input", '{ name: "input__0", data_type: TYPE_FP32, dims: [ 32 ] }')
        + lists("output", '{ name: "output__0", data_type: TYPE_FP32, dims: [ 1 ] }')
        + 'parameters [ { key: "model_type" value: { string_value: "xgboost_json" } } ]\n',
        {"1/xgboost.json": "{ }"},
    ),
    "savedmodel": Example(
        'platform: "tensorflow_savedmodel"\nmax_batch_size: 8\n',
        {"1/model.savedmodel/saved_model.pb": saved_model({"operator": "Const"})},
    ),
    "openvino": example('backend: "openvino"\n', model_xml="<net/>", model_bin=""),
    "stateful": example(f'backend: "stateful"\n{BOTH}'),
    "metric-tags": example(python_model('metric_tags { key: "" value: "" }'), model_py=IDENTITY),
    "many-tensors": example(python_model(outputs=MANY), model_py=IDENTITY),
    "llm-template": Example(
        'name: "llm-template"\nbackend: "${triton_backend}"\nmax_batch_size: ${triton_max_batch_size}\n\n'
        "model_transaction_policy {\n  decoupled: ${decoupled_mode}\n}\n"
        "dynamic_batching {\n    preferred_batch_size: [ ${triton_max_batch_size} ]\n}\n"
        + lists("input", '{ name: "input_ids"\n data_type: TYPE_INT32\n dims: [ -1 ]\n allow_ragged_batch: true }')
        + lists("output", '{ name: "logits"\n data_type: ${logits_datatype}\n dims: [ -1, -1 ] }')
        + 'instance_group [ { count: ${instance_count} kind : KIND_CPU } ]\n'
        'parameters: { key: "gpt_model_path" value: { string_value: "${engine_dir}" } }\n',
        {"1": None},
    ),
    "environment-of-nobody": Example(  # copied along, and read by the Python backend only
        ensemble(step("scale", {"X": "X"}, {"Y": "Y"}))
        + 'parameters: { key: "EXECUTION_ENV_PATH" value: { string_value: "env/none.tar.gz" } }\n'
    ),
    "ensemble-of-templates": Example(
        ensemble(
            step("scale", {"X": "X"}, {"Y": "ids"}),
            step("llm-template", {"input_ids": "ids"}, {"logits": "Y"}),
            size=64,
        ).replace("max_batch_size: 64", "max_batch_size: ${triton_max_batch_size}"),
    ),
}  # fmt: skip
TEMPLATES = ("llm-template", "ensemble-of-templates")


@pytest.mark.verdicts
def test_what_the_server_accepts_is_no_error(tmp_path: Path) -> None:
    """Otherwise people who try the checker on their models meet wrong alarms first.

    A template is one fault, here and in its ensemble, and not all that follow from it.
    """
    results = server_results(STYLES, tmp_path, completes=True)
    faults: dict[str, list[Fault]] = {name: [] for name in STYLES}
    for fault in check([tmp_path / "models"]).faults:
        faults.setdefault(Path(fault.place.path).relative_to(tmp_path / "models").parts[0], []).append(fault)
    for name, result in results.items():
        errors = [fault.rule for fault in faults[name] if fault.severity is Severity.ERROR]
        assert name not in TEMPLATES or errors == ["config-template"]
        accepted = result.loaded or NO_LIBRARY in result.words or "is not loaded" in result.words
        assert accepted == (not errors), (name, result.words)
