"""default_model_filename of Python models: the stub gets it by a shell command and imports it as a module."""

import re
from collections.abc import Iterator

from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.rule import Example, Finding, Model, Server, rule

SOURCE = "python_backend r24.10 stub_launcher.cc, pb_stub.cc StubSetup; measured on tritonserver 2.51.0"
_CURE = "rename the file and default_model_filename: use letters, digits, '-' and '_'"


def _called(name: str) -> Example:
    return Example(python_model(f'default_model_filename: "{name}"'), {f"1/{name}": IDENTITY})


GOOD = _called("my_model.py")


def _name(model: Model) -> str:
    return model.config.default_model_filename if model.is_python else ""


@rule("The file of a Python model has no blanks in its name", bad=_called("my model.py"), server=Server.DIES)
def model_py_file_name(model: Model) -> Iterator[Finding]:
    if re.search(r"[ \t\n]", _name(model)):
        message = f"the name of the file, '{_name(model)}', contains a blank"
        effect = "Triton starts the stub by a shell command that has the name in it, and tritonserver ends: stol"
        yield Finding(model.at("default_model_filename"), message, effect, _CURE)


@rule(
    "The file of a Python model has no dot in its name but that of .py",
    bad=_called("model.v2.py"),
    words="No module named '1.model'",
)
def model_py_file_name_dots(model: Model) -> Iterator[Finding]:
    name = _name(model)
    if name.endswith(".py") and "/" not in name and "." in name.removesuffix(".py").lstrip("."):
        message = f"'{name}' has more than one dot, and Python takes what stands before them for packages"
        yield Finding(model.at("default_model_filename"), message, cure=_CURE)
