"""How instances of one model share the cores, with real processes and locks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkout import ROOT
from triton_ensembles.runtime.backends.common.instance_engine import InstanceEngine
from triton_ensembles.runtime.backends.common.model_instance import ModelInstance

CORES = len(os.sched_getaffinity(0))
SIBLING = """
import sys
sys.path.append(sys.argv[1])
from triton_ensembles.runtime.backends.common.instance_engine import computing
with open(sys.argv[2], "rb") as file, computing(file):
    print("computing", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"weights")
    path.chmod(0o444)  # as in a read-only repository
    return path


def instance_engine(file: Path, instances: int, **parameters: str) -> InstanceEngine[int]:
    """The engine is its number of threads."""
    config = {"instance_group": [{"count": instances, "kind": "KIND_CPU"}]}
    model = ModelInstance("model", file, 8, (), (), parameters, config, None)
    return InstanceEngine(model, lambda threads: threads, "threads")


def threads(engines: InstanceEngine[int], requests: int) -> int:
    with engines.engine(requests) as found:
        return found


def test_one_request_has_all_cores_while_the_other_instances_are_idle(file: Path) -> None:
    """Otherwise a lone client would wait twice as long, or two busy instances would get in each other's way."""
    engines = instance_engine(file, CORES)
    assert threads(engines, 1) == CORES
    assert threads(engines, 2) == 1  # more are waiting
    command = [sys.executable, "-c", SIBLING, str(ROOT), str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sibling:
        assert sibling.stdout is not None
        assert sibling.stdout.readline() == "computing\n"
        assert threads(engines, 1) == 1
        sibling.kill()  # and the kernel releases its lock
        sibling.wait()
        assert threads(engines, 1) == CORES
    engines.close()


@pytest.mark.parametrize(
    ("instances", "parameters", "expected"),
    [
        (1, {}, [CORES, CORES]),
        (4 * CORES, {}, [CORES, 1]),
        (2, {"threads": "3"}, [3, 3]),
        (1, {"threads": "0"}, [CORES, CORES]),
    ],
)
def test_numbers_of_threads(file: Path, instances: int, parameters: dict[str, str], expected: list[int]) -> None:
    """For one request, and for more than the instance is given at a time."""
    engines = instance_engine(file, instances, **parameters)
    assert [threads(engines, 1), threads(engines, 5)] == expected
    engines.close()
