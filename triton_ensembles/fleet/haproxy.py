"""The config of HAProxy before many hosts: https://docs.haproxy.org/2.8/configuration.html"""

import ipaddress
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from triton_ensembles.fleet.template import filled
from triton_ensembles.ground.errors import UsageError

# HAProxy scales an id by 2^12 before it hashes it to 32 bits (r2.8 src/lb_chash.c): higher bits would not count.
_IDS = 1 << 20
_LABEL = r"[0-9a-z_]([0-9a-z_-]{0,61}[0-9a-z_])?"
_NAME = re.compile(rf"({_LABEL}\.)*(?![0-9]+$){_LABEL}")  # the last label of a name is no number
_LONGEST_NAME = 253
_CURE = "write HOST:PORT, such as 10.0.0.7:8000, models-1.internal:8000 or [fd00::7]:8000"


@dataclass(frozen=True)
class Balancer:
    """Where the balancer listens, and how it divides requests.

    Args:
        bind: the address; ``*`` is every one.
        http_port, metrics_port: of KServe v2, and of HAProxy's own metrics for Prometheus at /metrics.
        seconds: the ``--seconds`` of the hosts.
        balance_factor: how much of its fair share of the requests under way a host takes, in percent; 0: any.
    """

    bind: str
    http_port: int
    metrics_port: int
    seconds: float
    balance_factor: int

    def __post_init__(self) -> None:
        if self.bind != "*":
            _address(f"{self.bind}:{self.http_port}")
        if 0 < self.balance_factor <= 100:
            raise UsageError(
                f"--balance-factor {self.balance_factor}: HAProxy takes 0, or more than 100", cure="raise it"
            )
        if self.http_port == self.metrics_port:
            raise UsageError(f"--http-port and --metrics-port are both {self.http_port}", cure="choose another for one")

    @property
    def answer_seconds(self) -> int:
        """The longest that a host may take: for a request to wait for its model, and for the answer."""
        return round(2 * self.seconds) + 30


def haproxy_config(balancer: Balancer, hosts: Iterable[str]) -> str:
    """The config for these hosts, each given as HOST:PORT. Raises UsageError for what is no such address, or two equal
    ones."""
    addresses: list[str] = []
    for text in hosts:
        if (address := _address(text)) in addresses:
            raise UsageError(f"two hosts have the address {address}", cure="give each once")
        addresses.append(address)
    named = any(_has_name(address) for address in addresses)
    command = f"export haproxy {' '.join(addresses)}"
    return _filled(balancer, command, hosts=_ids(addresses), resolved=named, name=None)


def config_of_name(balancer: Balancer, command: str, name: str, most: int) -> str:
    """The config for hosts that come and go, at most so many, and have one name in the DNS."""
    return _filled(balancer, command, hosts=(), resolved=True, name=name, most=most)


def _filled(balancer: Balancer, command: str, **hosts: object) -> str:
    values: Mapping[str, object] = vars(balancer) | {"answer_seconds": balancer.answer_seconds} | hosts
    return filled("haproxy.cfg.j2", command, **values)


def _address(text: str) -> str:
    """The address in one spelling."""
    host, colon, port = text.rpartition(":")
    if not colon:
        raise UsageError(f"'{text}' has no port", cure=_CURE)
    if not re.fullmatch(r"[0-9]{1,5}", port) or not 0 < int(port) < 1 << 16:
        raise UsageError(f"'{text}': ports are numbers from 1 to 65535", cure=_CURE)
    name = host.lower().removesuffix(".")
    try:
        if bracketed := re.fullmatch(r"\[(.*)\]", host):
            return f"[{ipaddress.IPv6Address(bracketed[1])}]:{int(port)}"
        if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
            return f"{ipaddress.IPv4Address(host)}:{int(port)}"
    except ValueError:
        raise UsageError(f"'{text}' is not the address of a host", cure=_CURE) from None
    return f"{name}:{int(port)}"


def _has_name(address: str) -> bool:
    return _NAME.fullmatch(address.rpartition(":")[0]) is not None


def _ids(addresses: Iterable[str]) -> list[tuple[int, str]]:
    """Each address with a number that follows from it: what HAProxy hashes. In sorted order, so that the order in which
    they are given does not matter where two would have the same."""
    ids: dict[int, str] = {}
    for address in sorted(addresses):
        number = zlib.crc32(address.encode()) % _IDS or 1
        while number in ids:
            number = number % _IDS + 1
        ids[number] = address
    return list(ids.items())
