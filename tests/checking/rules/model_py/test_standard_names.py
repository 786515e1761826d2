"""Names of the standard library in model.py that the step's Python lacks; the real server is the judge."""

from __future__ import annotations

import importlib
import platform
from contextlib import suppress
from pathlib import Path

import pytest

from tests.checking.packing import MODEL_PY, faults
from tests.checking.taken_lines import assert_agreed
from triton_ensembles.checking.examples import python_model, with_environment
from triton_ensembles.checking.python.name_table import STANDARD
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage

RULE = "model-py-standard-name"
# Lines at the import, whether the server loads them, and a part of the cure ("" for no fault).
LINES = {
    "moved": ("from collections import Mapping, deque", False, "collections.abc"),
    "moved-attribute": ("import collections as c\nc.Mapping", False, "collections.abc"),
    "removed": ("import inspect\ninspect.getargspec(len)", False, "another Python"),
    "misspelt": ("from json import JSONDecoderError", False, "'JSONDecodeError'"),
    "class-body": ("import time\nclass A:\n    began = time.clock()", False, "the name"),
    "submodule": ("from concurrent import futures\nfutures.ThreadPoolExecuter", False, "'ThreadPoolExecutor'"),
    "right": ("import os.path\nfrom datetime import UTC\nimport datetime\nos.path.join('a'), datetime.UTC, os.O_RDONLY",
              True, ""),
    "caught": ("try:\n    from collections import Mapping\nexcept ImportError:\n    Mapping = dict", True, ""),
    "asked": ("import time\nX = time.clock() if hasattr(time, 'clock') else 0", True, ""),
    "by-version": ("import sys, time\nif sys.version_info < (3, 8):\n    time.clock()", True, ""),
    "put": ("import collections, collections.abc\ncollections.Mapping = collections.abc.Mapping\ncollections.Mapping",
            True, ""),
    "other": ("import time\ntime = 'now'\ntime.upper()", True, ""),
    "argument": ("import queue\ndef f(queue):\n    return queue.push(1)\nclass Q:\n    push = id\nf(Q)", True, ""),
    "never-imported": ("string = 'abc'\nstring.upper()", True, ""),
    "never-called": ("import time\ndef f():\n    return time.clock()", True, ""),
    "annotation": ("import time\ndef f(x: 'time.Clock'):\n    y: time.Clock = 1", True, ""),
}  # fmt: skip


@pytest.mark.verdicts
def test_the_server_agrees_on_names(tmp_path: Path) -> None:
    """Otherwise an import of a laptop's Python is found by the load, or a name that there is is refused."""
    assert_agreed(LINES, {RULE}, tmp_path)


def test_a_module_of_the_models_own_is_not_pythons(tmp_path: Path) -> None:
    """Otherwise a step with a file queue.py beside its model.py is refused."""
    files = {"1/queue.py": "def push(): pass\n", "1/model.py": f"from queue import push\n{MODEL_PY}"}
    stage(Example(python_model(), files), tmp_path, "m")
    assert RULE not in {fault.rule for fault in faults(tmp_path)}


@pytest.mark.parametrize(
    ("image", "words"), [("24.09", "Python 3.10, which runs the step"), ("24.12", ""), ("mine:1", "")]
)
def test_the_python_of_the_image_decides(image: str, words: str, tmp_path: Path) -> None:
    """Otherwise what a laptop's Python 3.12 has dies on SageMaker, whose image has 3.10."""
    stage(Example(python_model(), {"1/model.py": f"from itertools import batched\n{MODEL_PY}"}), tmp_path, "m")
    messages = [fault.message for fault in faults(tmp_path, image=image) if fault.rule == RULE]
    assert [words in message for message in messages] == ([True] if words else [])


def test_the_python_of_the_environment_decides(tmp_path: Path) -> None:
    """Otherwise code for the packed Python is judged by the image's."""
    stage(with_environment(imports="from typing import override\n"), tmp_path, "m")
    cures = [fault.cure for fault in faults(tmp_path, image="24.12") if fault.rule == RULE]
    assert len(cures) == 1 and "typing_extensions" in cures[0]


def test_the_table_has_the_names_of_this_python() -> None:
    """Otherwise a name that Python has is refused."""
    version = STANDARD.version(platform.python_version())
    assert version
    for module in sorted(STANDARD.modules):
        with suppress(ModuleNotFoundError):  # of another system
            named = {name for name in dir(importlib.import_module(module)) if not name.startswith("_")}
            assert not [f"{module}.{name}" for name in named if not STANDARD.has(module, name, version)]
