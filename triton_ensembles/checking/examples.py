"""Parts of the rules' examples, and the models that they use as steps: the real server loads them."""

from collections.abc import Mapping
from io import BytesIO
from zipfile import ZipFile, ZipInfo

from triton_ensembles.checking.environments import MODEL_FOLDER, PARAMETER
from triton_ensembles.checking.rule import Example


def _zipped(name: str, text: str) -> str:
    stream = BytesIO()
    with ZipFile(stream, "w") as archive:
        archive.writestr(ZipInfo(name), text)
    return stream.getvalue().decode("utf-8", "surrogateescape")


HEAD = "import triton_python_backend_utils as pb_utils\n\n\n"
IDENTITY = f"""{HEAD}class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request, request.inputs()[0].as_numpy()) for request in requests]

    def answer(self, request, x):
        return pb_utils.InferenceResponse([pb_utils.Tensor(name, x) for name in request.requested_output_names()])
"""
# A model.py that tells Triton its input.
COMPLETING = (
    IDENTITY
    + """
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "X", "data_type": "TYPE_FP32", "dims": [4]})
        return config
"""
)
# Decoupled: it would answer with response senders, and execute returns nothing. This one refuses everything.
STREAM = f"""{HEAD}class TritonPythonModel:
    def execute(self, requests):
        raise pb_utils.TritonModelException("this is an example")
"""
# Two ONNX files, X -> Y, FP32 [n, 4]: Identity, and Add with weights in the file model.data.
_TYPE = "\x12\x0f\n\r\x08\x01\x12\t\n\x03\x12\x01n\n\x02\x08\x04"
_VALUES = f"Z\x14\n\x01X{_TYPE}b\x14\n\x01Y{_TYPE}"
ONNX_IDENTITY = f'\x08\x08:A\n\x10\n\x01X\x12\x01Y"\x08Identity\x12\x01g{_VALUES}B\x04\n\x00\x10\r'
ONNX_LICENSED = f"{ONNX_IDENTITY}r\x13\n\x07license\x12\x08AGPL-3.0"
ONNX_EXTERNAL = (
    '\x08\x08:}\n\x0e\n\x01X\n\x01W\x12\x01Y"\x03Add\x12\x01g*<\x08\x04\x10\x01B\x01Wj\x16\n\x08location\x12\nmodel.data'
    f"j\x0b\n\x06offset\x12\x010j\x0c\n\x06length\x12\x0216p\x01{_VALUES}B\x04\n\x00\x10\r"
)
# Of TorchScript the member that says its version.
TORCHSCRIPT = _zipped("model/version", "3")
# A frozen TensorFlow graph with the placeholder X and the node Y.
GRAPH_IDENTITY = (
    "\n\x1d\n\x01X\x12\x0bPlaceholder*\x0b\n\x05dtype\x12\x020\x01"
    "\n\x19\n\x01Y\x12\x08Identity\x1a\x01X*\x07\n\x01T\x12\x020\x01"
)


def io_tensor(name: str, type: str = "FP32", dims: str = "4", more: str = "") -> str:
    """An input or output of a config.pbtxt; ``more`` is whatever else it has."""
    return f'{{ name: "{name}", data_type: TYPE_{type}, dims: [ {dims} ]{more and f", {more}"} }}'


X, Y = io_tensor("X"), io_tensor("Y")


def python_model(
    *extra: str, inputs: str = X, outputs: str = Y, size: int = 8, backend: str = 'backend: "python"'
) -> str:
    """The config.pbtxt of a Python model, FP32 [4] -> FP32 [4] unless ``inputs`` and ``outputs`` say otherwise."""
    lines = [backend, f"max_batch_size: {size}", f"input [ {inputs} ]", f"output [ {outputs} ]", *extra]
    return "".join(f"{line}\n" for line in lines if line)


def script_for(config: str) -> str:
    """The model.py of an example that has none of its own."""
    return STREAM if "decoupled: true" in config else IDENTITY


def parameter(key: str, value: str) -> str:
    return f'parameters {{ key: "{key}", value: {{ string_value: "{value}" }} }}'


def script_model(body: str, *extra: str) -> Example:
    """A Python model whose model.py is ``body`` after the import of pb_utils."""
    return Example(python_model(*extra), {"1/model.py": HEAD + body})


def plan_model(*extra: str, inputs: str = X) -> Example:
    """A TensorRT model whose plan is a text."""
    return Example(python_model(*extra, inputs=inputs, backend='platform: "tensorrt_plan"'), {"1/model.plan": "plan"})


def onnx_model(inputs: str = X, file: str = ONNX_IDENTITY) -> Example:
    """A model of ONNX Runtime."""
    return Example(python_model(inputs=inputs, backend='backend: "onnxruntime"'), {"1/model.onnx": file})


def with_environment(
    python: str = "3.10",
    site: dict[str, str] | None = None,
    imports: str = "",
    library: bool = True,
    numpy: bool = True,
) -> Example:
    """A Python model with an unpacked environment in its folder, which Triton accepts since 23.07. ``python`` is its
    version, and ``site`` the content of its site-packages, beside a numpy that has no code."""
    folder = f"env/lib/python{python}"
    files: dict[str, str | None] = {"1/model.py": imports + IDENTITY, "env/bin/activate": ""}
    files |= {f"{folder}/os.py": "", f"{folder}/json/__init__.py": ""} if library else {f"{folder}/site.txt": ""}
    packages = {"numpy/__init__.py": "", **(site or {})} if numpy else site or {}
    files |= {f"{folder}/site-packages/{path}": text for path, text in packages.items()}
    return Example(python_model(parameter(PARAMETER, f"{MODEL_FOLDER}/env")), files)


def _step(name: str, *extra: str, inputs: str = X, outputs: str = Y, size: int = 8) -> Example:
    config = python_model(
        "instance_group [ { count: 1, kind: KIND_CPU } ]", *extra, inputs=inputs, outputs=outputs, size=size
    )
    return Example(f'name: "{name}"\n{config}', {"1/model.py": script_for(config)}, folder=name)


# Each is small and has one property that an ensemble may get wrong.
_STEPS = (
    _step("scale"),
    _step(
        "join",
        inputs=f"{io_tensor('A')}, {io_tensor('B')}, {io_tensor('HINT', 'INT32', '1', 'optional: true')}",
        outputs=f"{io_tensor('SUM')}, {io_tensor('MEAN', dims='1')}",
    ),
    _step("pair-sum", inputs=io_tensor("PAIR", dims="2"), outputs=io_tensor("SUM", dims="1")),
    _step("tokenize", inputs=io_tensor("TEXT", "STRING", "1"), outputs=io_tensor("IDS", "INT64", "-1")),
    # no batching: the batch axis of the ensemble is an axis of the tensor
    _step("whole", inputs=io_tensor("X", dims="-1, 4"), outputs=io_tensor("Y", dims="-1, 4"), size=0),
    # decoupled: any number of responses for one request
    _step("stream", "model_transaction_policy { decoupled: true }"),
)
STEPS = {step.folder: step for step in _STEPS}


def step(model: str, inputs: Mapping[str, str], outputs: Mapping[str, str], version: str = "model_version: -1") -> str:
    """A step of an ensemble; the maps go from the model's tensors to the ensemble's."""
    lines = [f'model_name: "{model}"', version]
    for name, pairs in (("input_map", inputs), ("output_map", outputs)):
        lines += [f'{name} {{ key: "{key}", value: "{value}" }}' for key, value in pairs.items()]
    return "{\n" + "".join(f"      {line}\n" for line in lines if line) + "    }"


def ensemble(
    *steps: str,
    inputs: str = X,
    outputs: str = Y,
    size: int = 8,
    extra: str = "",
    platform: str = 'platform: "ensemble"',
) -> str:
    """The config.pbtxt of an ensemble of ``steps``."""
    lines = [platform, f"max_batch_size: {size}", f"input [ {inputs} ]", f"output [ {outputs} ]", extra]
    head = "".join(f"{line}\n" for line in lines if line)
    return f"{head}ensemble_scheduling {{\n  step [\n    {', '.join(steps)}\n  ]\n}}\n"


SCALE = step("scale", {"X": "X"}, {"Y": "Y"})
