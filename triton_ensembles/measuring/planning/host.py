"""One instance: what it has for a server and its models."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Host:
    """The resources of one instance.

    Args:
        name: of its type.
        cores: vCPUs.
        memory_bytes: the budget of the server and its models; less than the instance has.
        disk_bytes: for unpacked archives; None: unknown, so that all of them are taken to fit.
        disk_rate: bytes a second that the disk reads or writes; None: no bound, as with a page cache.
        network_rate: bytes a second from S3; None: no bound.
        gpu: the model of its GPUs, which no profile has measured; "" without one.
    """

    name: str
    cores: int
    memory_bytes: int
    disk_bytes: int | None = None
    disk_rate: float | None = None
    network_rate: float | None = None
    gpu: str = ""
