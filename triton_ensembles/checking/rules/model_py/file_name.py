"""default_model_filename of Python models: the stub gets it by a shell command and imports it as a module."""

import re

from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.field_rule import field_rule
from triton_ensembles.checking.rule import Example, Server

SOURCE = "python_backend r24.10 stub_launcher.cc, pb_stub.cc StubSetup; measured on tritonserver 2.51.0"
_CURE = "rename the file and default_model_filename: use letters, digits, '-' and '_'"
_DOTTED = re.compile(r"\.*[^./]+\.[^/]*\.py")  # one more dot, which does not begin the name


def _called(name: str) -> Example:
    return Example(python_model(f'default_model_filename: "{name}"'), {f"1/{name}": IDENTITY})


GOOD = _called("my_model.py")


# fmt: off
field_rule("model-py-file-name", "The file of a Python model has no blanks in its name",
           models=lambda model: model.is_python,
           at="default_model_filename", when=lambda config: re.search(r"[ \t\n]", config.default_model_filename),
           says="the name of the file, '{item.default_model_filename}', contains a blank",
           effect="Triton starts the stub by a shell command that has the name in it, and tritonserver ends: stol",
           cure=_CURE, bad=_called("my model.py"), server=Server.DIES)

field_rule("model-py-file-name-dots", "The file of a Python model has no dot in its name but that of .py",
           models=lambda model: model.is_python,
           at="default_model_filename", when=lambda config: _DOTTED.fullmatch(config.default_model_filename),
           says="'{item.default_model_filename}' has more than one dot, and Python takes what stands before them for "
                "packages",
           cure=_CURE, bad=_called("model.v2.py"), words="No module named '1.model'")
