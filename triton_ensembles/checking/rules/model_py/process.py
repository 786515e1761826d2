"""Arguments and environment variables in model.py: a stub has no arguments, and the environment of the server."""

import ast
import re
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import EXECUTE, class_model
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.nodes import is_changed
from triton_ensembles.checking.python.source import PythonFile, every_file
from triton_ensembles.checking.python.values import text_of
from triton_ensembles.checking.rule import Finding, Model, rule, warning

GOOD = class_model(f'    SIZE = os.environ.get("LABEL_COUNT", "4")\n\n{EXECUTE}', "import os\n\n\n")
_ARGUMENTS, _ENVIRONMENT = "sys.argv", "os.environ"
_CHANGING = frozenset({"append", "extend", "insert", "update", "setdefault", "putenv", "load_dotenv"})
# Variables that Linux, the images of NVIDIA and SageMaker, or their scripts set, or may set.
_USUAL = re.compile(
    r"(SAGEMAKER|SM|AWS|ECS|NVIDIA|NV|CUDA|CUDNN|NCCL|TRITON|TENSORRT|TRT|OMP|OMPI|MKL|LC|XDG|PYTHON|LD|SSH|PIP|HF|GCC)_"
    r"|(HOME|PATH|LANG|USER|LOGNAME|PWD|OLDPWD|SHELL|TERM|HOSTNAME|SHLVL|TMPDIR|TZ|LANGUAGE|_|MODEL_NAME|COLUMNS|PS1"
    r"|LIBRARY_PATH|CPATH|PYTHONPATH|PYTHONUNBUFFERED|DEBIAN_FRONTEND|DCGM_VERSION|UCX_MEM_EVENTS|SETUPTOOLS_.*)$"
)


@rule(
    "model.py takes no arguments of its process",
    source="python_backend r24.10 src/pb_stub.cc: Python gets none; measured on 2.51.0: sys.argv is ['']",
    bad=class_model(f"    SIZE = sys.argv[1]\n\n{EXECUTE}", "import sys\n\n\n"),
    words="list index out of range",
)
def model_py_arguments_of_process(model: Model) -> Iterator[Finding]:
    for file, node, key in _taken(model, _ARGUMENTS):
        when = flow_of(file).when(node)
        if isinstance(key, ast.Constant) and isinstance(key.value, int) and key.value > 0 and when.is_certain:
            message = f"sys.argv has no element {key.value}: the stub gets no arguments"
            cure = "write a parameter into config.pbtxt, and read it from args['model_config']"
            yield Finding(file.place(node), message, f"{when.effect}: IndexError: list index out of range", cure)


@warning(
    "model.py needs no environment variable that nothing sets",
    source="SageMaker and the images set SAGEMAKER_…, AWS_…, NVIDIA_…; others stand in CreateModel's Environment",
    bad=class_model(f'    SIZE = os.environ["LABEL_COUNT"]\n\n{EXECUTE}', "import os\n\n\n"),
    words="KeyError: 'LABEL_COUNT'",
)
def model_py_environment_variable(model: Model) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for file, node, key in _taken(model, _ENVIRONMENT):
        name, when = text_of(file, key), flow_of(file).when(node)
        if not name or not when.is_certain or _USUAL.match(name) or (file.path, name) in seen:
            continue
        seen.add((file.path, name))
        message = f"'{name}' is an environment variable that neither Triton nor SageMaker sets"
        cure = f"write os.environ.get({name!r}, …), or a parameter in config.pbtxt; or set it in CreateModel"
        yield Finding(file.place(node), message, f"{when.effect}, unless somebody sets it: KeyError: '{name}'", cure)


def _taken(model: Model, holder: str) -> Iterator[tuple[PythonFile, ast.Subscript, ast.expr]]:
    """The places of ``holder[key]``, where no file of the model changes the holder."""
    last = holder.rpartition(".")[2].encode()
    files = [file for file in every_file(model) if last in file.data or b"dotenv" in file.data]
    if not any(_is_changed(file, holder) for file in files):
        for file in files:
            for node in file.nodes:
                if isinstance(node, ast.Subscript) and file.full_name(node.value) == holder:
                    yield file, node, node.slice


def _is_changed(file: PythonFile, holder: str) -> bool:
    changed = [node for node in file.nodes if is_changed(node)]
    named = (node.value if isinstance(node, ast.Subscript) else node for node in changed)
    return any(isinstance(node, ast.expr) and file.full_name(node) == holder for node in named) or any(
        name.rpartition(".")[2] in _CHANGING and name.startswith((holder, "os.", "dotenv")) for _, name in file.calls()
    )
