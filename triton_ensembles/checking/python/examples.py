"""Building blocks for the examples of the rules about model.py."""

from triton_ensembles.checking.examples import HEAD, python_model, script_for, script_model
from triton_ensembles.checking.python.definitions import CLASS
from triton_ensembles.checking.rule import Example

EXECUTE = """\
    def execute(self, requests):
        tensors = (pb_utils.get_input_tensor_by_name(request, "X") for request in requests)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x.as_numpy())]) for x in tensors]
"""
# The same as a loop, of which the rules about responses leave out some lines.
EXECUTE_LINE = "    def execute(self, requests):\n"
LOOP = """\
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            response = pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)])
"""
# A request to another model.
CALLING = """\
    def execute(self, requests):
        inner = pb_utils.InferenceRequest(model_name="{}", requested_output_names=["Y"], inputs=[])
        return [inner.exec() for _ in requests]
"""
# A request to a model with the same tensors, and its answer.
ROUTER = """\
    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            call = pb_utils.InferenceRequest(
                model_name="scaler", requested_output_names=["Y"], inputs=[pb_utils.Tensor("X", x)]
            )
            answer = call.exec()
            if answer.has_error():
                responses.append(pb_utils.InferenceResponse(error=answer.error()))
                continue
            y = pb_utils.get_output_tensor_by_name(answer, "Y").as_numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("Y", y)]))
        return responses
"""


def class_model(body: str = EXECUTE, head: str = "") -> Example:
    """Return a Python model whose class has this body, after the lines of ``head``."""
    return script_model(f"{head}class {CLASS}:\n{body}")


def initializing(*lines: str) -> Example:
    """Return a Python model whose initialize has these lines."""
    body = "".join(f"        {line}\n" for line in lines)
    return class_model(f"    def initialize(self, args):\n{body}\n{EXECUTE}")


def initializing_with_labels(*lines: str) -> Example:
    """Return :func:`initializing` with pathlib's Path and the file ``1/labels.txt``."""
    body = "".join(f"        {line}\n" for line in lines)
    code = f"from pathlib import Path\n\n{HEAD}class {CLASS}:\n    def initialize(self, args):\n{body}\n{EXECUTE}"
    return Example(python_model(), {"1/labels.txt": "cat\n", "1/model.py": code})


def router(changed: str = "", to: str = "", *callee: str) -> Example:
    """Return a router that calls the model ``scaler``, in which one text is changed; its config has more lines."""
    body = ROUTER.replace(changed, to, 1) if changed else ROUTER
    model = class_model(body, "import numpy as np\n\n\n" if "np." in to else "")
    config = python_model(*callee)
    beside = {"scaler/config.pbtxt": f'name: "scaler"\n{config}', "scaler/1/model.py": script_for(config)}
    return Example(model.config, model.files, beside)
