"""Where archives of a target are deployed to when neither they nor the command line say it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Default:
    """An image and an instance type.

    Args:
        release: of AWS's image; "" for the server on this machine.
        instance: the instance type.
    """

    release: str
    instance: str


DEFAULTS = {
    "cpu": Default("", "ml.c5.xlarge"),
    # The newest release in accounts.csv whose image still has the TensorFlow backend (triton/releases.csv).
    "gpu": Default("24.09", "ml.g4dn.xlarge"),
    # Every loaded model takes memory, also when it is rarely called: docs/targets.md has the GiB per dollar.
    "fused": Default("", "ml.m5.xlarge"),
}
