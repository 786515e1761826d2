"""Building blocks for the examples of the rules about model.py."""

from triton_ensembles.checking.examples import HEAD, python_model, script_model
from triton_ensembles.checking.python.flow import CLASS
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


def class_model(body: str = EXECUTE, head: str = "") -> Example:
    """A Python model whose class has this body, after the lines of ``head``."""
    return script_model(f"{head}class {CLASS}:\n{body}")


def initializing(*lines: str, head: str = "") -> Example:
    """A Python model whose initialize has these lines."""
    body = "".join(f"        {line}\n" for line in lines)
    return class_model(f"    def initialize(self, args):\n{body}\n{EXECUTE}", head)


def initializing_with_labels(*lines: str) -> Example:
    """As :func:`initializing`, with pathlib's Path and the file ``1/labels.txt``."""
    body = "".join(f"        {line}\n" for line in lines)
    code = f"from pathlib import Path\n\n{HEAD}class {CLASS}:\n    def initialize(self, args):\n{body}\n{EXECUTE}"
    return Example(python_model(), {"1/labels.txt": "cat\n", "1/model.py": code})
