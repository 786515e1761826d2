"""Instance types, as EC2 describes them."""

import pytest

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.planning.instances import host_of


def test_instances_are_those_of_ec2() -> None:
    found = host_of("ml.g4dn.2xlarge")
    assert (found.cores, found.memory_bytes, found.disk_bytes, found.gpu) == (8, int(0.9 * 2**35), 225 * 10**9, "T4")
    assert found.disk_rate is None  # its own drives: EBS does not bound them
    other = host_of("c7i.2xlarge")
    assert (other.name, other.disk_bytes, other.disk_rate) == ("ml.c7i.2xlarge", None, 312.5e6)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ml.c7i.3xlarge", r"'ml.c7i.3xlarge' is not an instance type; write .*'ml.c7i.2xlarge'"),
        ("ml.nothing", "'ml.nothing' is not an instance type"),
        ("ml.g4dn.12xlarge", "ml.g4dn.12xlarge has 4 GPUs, and multi-model endpoints take types with one"),
        ("ml.c7g.2xlarge", "ml.c7g.2xlarge has Arm processors"),
    ],
)
def test_other_instances_are_refused(name: str, message: str) -> None:
    with pytest.raises(EnsembleError, match=message):
        host_of(name)
