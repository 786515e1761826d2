"""The runtime is copied into archives whose steps may run in Python 3.10, which is older than the package's own."""

import subprocess

from checkout import ROOT
from tests.pythons import any_python_or_skip

CODE = """import ast, importlib, pathlib, sys

for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] in sys.stdlib_module_names:
            module = importlib.import_module(node.module)
            for name in (each.name for each in node.names):
                assert hasattr(module, name), f"{path}:{node.lineno}: {node.module} has no {name} in {sys.version}"
"""


def test_each_module_is_understood_by_the_oldest_python_of_the_images() -> None:
    """Otherwise fused archives for these images do not load, which only slow tests of such a server would see."""
    python = any_python_or_skip("3.10").executable
    subprocess.run([python, "-I", "-c", CODE, ROOT / "triton_ensembles" / "runtime"], check=True)
