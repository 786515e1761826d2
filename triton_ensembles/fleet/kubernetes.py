"""The manifests of many hosts on Kubernetes, and of the balancer before them."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from triton_ensembles.fleet.haproxy import Balancer, config_of_name
from triton_ensembles.fleet.template import filled
from triton_ensembles.ground.errors import UsageError
from triton_ensembles.host.settings import DRAIN_SECONDS

TARGET_UTILIZATION = 0.7  # of the processors of a host; beyond it, the autoscaler starts another one
_PRE_STOP_SECONDS = 20  # in which CoreDNS (a TTL of 5 s by default) and HAProxy (hold valid) forget a pod
_LONGEST = 63 - len("-hosts")  # names of Services are labels of RFC 1035
_SECRET = r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?"  # RFC 1123
_MIB = 1 << 20
_BESIDE = 1 << 30  # bytes beside the budget: the host itself, its balancing of errors, shared memory on its way
_DISK_BESIDE = 4 << 30  # logs, and environments being unpacked
# Options of the host that the manifests set.
_OURS = ("--bind", "--http-port", "--root", "--memory-budget", "--disk-budget", "--seconds", "--token-file")


@dataclass(frozen=True)
class Fleet:
    """Hosts on Kubernetes.

    Args:
        name: of the Service that clients call.
        image: with triton-ensembles[serve] and tritonserver in it.
        hosts, most_hosts: between which the HorizontalPodAutoscaler keeps their number.
        cpus: of each host.
        memory_budget, disk_budget: bytes, of each host.
        service_account: whose role may read the prefix; "": the namespace's own.
        token_secret: a Secret whose key ``token`` clients must know; "": none.
        seconds, balance_factor: as those of a :class:`Balancer`.
        more: further options of ``host``.
    """

    name: str
    source: str
    image: str
    balancer_image: str
    hosts: int
    most_hosts: int
    cpus: float
    memory_budget: int
    disk_budget: int
    service_account: str
    token_secret: str
    seconds: float
    balance_factor: int
    more: Sequence[str]

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?", self.name) or len(self.name) > _LONGEST:
            cure = f"begin with a letter; use a-z, 0-9 and hyphens between them, at most {_LONGEST} characters"
            raise UsageError(f"Kubernetes allows no Service of the name '{self.name}'", cure=cure)
        if not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]+[a-z0-9](/\S*)?", self.source) or not self.source.isprintable():
            raise UsageError(f"'{self.source}' is no S3 prefix", cure="write s3://BUCKET/PREFIX")
        for option, image in (("--image", self.image), ("--balancer-image", self.balancer_image)):
            if not re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z._:/@-]*", image):
                raise UsageError(f"{option}: '{image}' is no image", cure="write REGISTRY/NAME:TAG")
        if self.most_hosts < self.hosts:
            raise UsageError(f"--most-hosts {self.most_hosts} is less than --hosts {self.hosts}", cure="raise it")
        for option, name in (("--service-account", self.service_account), ("--token-secret", self.token_secret)):
            if name and not re.fullmatch(_SECRET, name):
                raise UsageError(f"{option}: Kubernetes allows no name '{name}'", cure="use a-z, 0-9, hyphens and dots")
        for option in self.more:
            if option.partition("=")[0] in _OURS:
                raise UsageError(
                    f"{option} is the manifests' own", cure="give it as an option of export, if there is one"
                )

    @property
    def arguments(self) -> list[str]:
        """The command line of a host."""
        sizes = ["--memory-budget", f"{self.memory_budget // _MIB}M", "--disk-budget", f"{self.disk_budget // _MIB}M"]
        token = ["--token-file", "/token/token"] if self.token_secret else []
        seconds = ["--seconds", f"{self.seconds:g}s"]
        own = ["host", self.source, "--bind", "0.0.0.0", "--root", "/scratch/host"]
        return [*own, *sizes, *seconds, *token, *self.more]


def manifests(fleet: Fleet) -> str:
    """The manifests as YAML documents, for ``kubectl apply``."""
    command = f"export kubernetes {fleet.name} {fleet.source}"
    balancer = Balancer("*", 8000, 8405, fleet.seconds, fleet.balance_factor)
    name = f"{fleet.name}-hosts.${{NAMESPACE}}.svc.cluster.local:8000"
    config = config_of_name(balancer, command, name, fleet.most_hosts + 1)  # a rollout has one more
    return filled(
        "kubernetes.yaml.j2",
        command,
        **vars(fleet)
        | {
            "host": "triton-ensembles-host",
            "balancer": "triton-ensembles-balancer",
            "arguments": fleet.arguments,
            "cpus": f"{round(fleet.cpus, 2):g}",
            "utilization": round(TARGET_UTILIZATION * 100),
            "memory": f"{(fleet.memory_budget + fleet.memory_budget // 10 + _BESIDE) // _MIB}Mi",
            "disk": f"{(fleet.disk_budget + _DISK_BESIDE) // _MIB}Mi",
            "config": config,
            "checksum": f"{zlib.crc32(config.encode()):08x}",
            "pre_stop_seconds": _PRE_STOP_SECONDS,
            "drain_seconds": round(DRAIN_SECONDS),
            "answer_seconds": balancer.answer_seconds,
        },
    )
