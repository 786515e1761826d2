"""Instances and their types: cores, memory, disk and network, from moto's copy of EC2's DescribeInstanceTypes.

``ml.c7i.2xlarge`` is an instance of SageMaker, ``c7i.2xlarge`` the machine of EC2 that it is: prices have both.
"""

import gzip
import json
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.spelling import choices


@dataclass(frozen=True)
class Host:
    """The resources of one instance.

    Args:
        name: of its type.
        cores: vCPUs.
        memory_bytes: the budget of the server and its models; less than the instance has.
        disk_bytes: for unpacked archives; None: unknown, so that all of them are assumed to fit.
        disk_rate: bytes a second that the disk reads or writes; None: no bound, as with a page cache.
        network_rate: bytes a second from S3; None: no bound.
        gpu: the model of its GPUs, which no profile has measured; "" without one.
        evict_ahead: whether a load has room made for the next one, as the local endpoint's --evict-ahead.
        by_hash: whether it runs ``host`` behind a balancer that sends a model's requests to the machine which the hash
            of its name gives; otherwise SageMaker routes them to where the model is loaded.
    """

    name: str
    cores: int
    memory_bytes: int
    disk_bytes: int | None = None
    disk_rate: float | None = None
    network_rate: float | None = None
    gpu: str = ""
    evict_ahead: bool = False
    by_hash: bool = False


_SLACK = 0.1  # of the memory, which is left to the system: AWS recommends slack, and does not say how much


def host_of(name: str) -> Host:
    """An instance of SageMaker, such as ``ml.c7i.2xlarge``; ``machine_of`` makes a machine of EC2 of it.

    AWS gives types without drives of their own a volume whose size is not published, and reads it at the rate of EBS.

    Raises:
        EnsembleError: there is no such type, or multi-model endpoints cannot have it.
    """
    known = _known(name)
    gpus = known.get("GpuInfo", {}).get("Gpus", [])
    if (count := sum(gpu["Count"] for gpu in gpus)) > 1:
        message = f"{name} has {count} GPUs, and multi-model endpoints take types with one"
        raise EnsembleError(message, cure="choose a type with one GPU or without")
    if "x86_64" not in known["ProcessorInfo"]["SupportedArchitectures"]:
        message = f"{name} has Arm processors, and SageMaker's image of Triton is for x86_64"
        raise EnsembleError(message, cure="choose an x86_64 type")
    network = known["NetworkInfo"].get("NetworkCards", [{}])[0].get("BaselineBandwidthInGbps")
    drives = known.get("InstanceStorageInfo", {}).get("TotalSizeInGB")
    volume = known.get("EbsInfo", {}).get("EbsOptimizedInfo", {}).get("BaselineThroughputInMBps")
    return Host(
        name=f"ml.{name.removeprefix('ml.')}",
        cores=known["VCpuInfo"]["DefaultVCpus"],
        memory_bytes=int(known["MemoryInfo"]["SizeInMiB"] * 2**20 * (1 - _SLACK)),
        disk_bytes=int(drives * 1e9) if drives else None,
        disk_rate=None if drives or not volume else volume * 1e6,
        network_rate=network * 1e9 / 8 if network else None,
        gpu=gpus[0]["Name"] if gpus else "",
    )


def machine_of(host: Host) -> Host:
    """The same machine on EC2, with ``triton-ensembles host`` behind a balancer."""
    return replace(host, name=host.name.removeprefix("ml."), by_hash=True)


def _known(name: str) -> dict[str, Any]:
    types = _types()
    if known := types.get(name.removeprefix("ml.")):
        return known
    family = name.removeprefix("ml.").partition(".")[0]
    sizes = [f"ml.{full}" for full in types if full.startswith(f"{family}.")]
    cure = f"write {choices(sizes)}" if sizes else "give one as SageMaker writes it, such as ml.c7i.2xlarge"
    raise EnsembleError(f"'{name}' is not an instance type", cure=cure)


@cache
def _types() -> dict[str, dict[str, Any]]:
    spec = find_spec("moto")  # importing moto.ec2 would take seconds
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("No module named 'moto'", name="moto")
    with gzip.open(Path(spec.origin).parent / "ec2" / "resources" / "instance_types.json.gz") as file:
        types: dict[str, dict[str, Any]] = json.load(file)
    return types
