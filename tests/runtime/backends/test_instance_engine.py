"""How instances of one model share the cores, with real processes and locks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkout import ROOT
from triton_ensembles.runtime.backends.common.instance_engine import InstanceEngine
from triton_ensembles.runtime.backends.common.model_instance import LoadError, ModelInstance

CORES = len(os.sched_getaffinity(0))
SIBLING = """
import sys
from pathlib import Path
sys.path.append(sys.argv[1])
from triton_ensembles.runtime.backends.common.instance_engine import Siblings
with Siblings(Path(sys.argv[2])).computing():
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
    return InstanceEngine(
        ModelInstance("model", file, 8, (), (), parameters, config, None), lambda threads: threads, "threads"
    )


def threads(engines: InstanceEngine[int], requests: int) -> int:
    with engines.engine(requests) as found:
        return found


def test_one_instance_has_all_cores(file: Path) -> None:
    engines = instance_engine(file, 1)
    assert threads(engines, 1) == threads(engines, 5) == CORES
    engines.close()


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


def test_more_instances_than_cores_have_one_thread_each(file: Path) -> None:
    assert threads(instance_engine(file, 4 * CORES), 2) == 1


def test_a_number_of_threads_in_the_config_is_used(file: Path) -> None:
    engines = instance_engine(file, 2, threads="3")
    assert threads(engines, 1) == threads(engines, 2) == 3
    assert threads(instance_engine(file, 1, threads="0"), 1) == CORES
    with pytest.raises(LoadError, match="must be a whole number"):
        instance_engine(file, 1, threads="two")
