"""Who may use which of tritonserver's APIs over TCP: some of them demand a secret, which is new in every run.

tritonserver answers whatever reaches its ports, and a web page reaches those on loopback. In explicit mode a POST whose
Content-Type is text/plain, which a browser sends without asking first, loads a model from files in the request, that
is, runs code. Its own remedy is --http-restricted-api (release 23.11) and --grpc-restricted-protocol: the APIs that
they name answer 403, or UNAVAILABLE, unless a header has a value.

The value stands on tritonserver's command line, which other users of the machine can read. So it keeps web pages out;
where it must keep them out as well, a server listens on Unix sockets (:mod:`~triton_ensembles.server.sockets`).
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.releases import version

_HEADER = "triton-ensembles-secret"
_GRPC_HEADER = f"triton-grpc-protocol-{_HEADER}"  # kRestrictedProtocolHeaderTemplate of src/grpc/grpc_utils.h
LOADING = ("model-repository",)
CHANGING = (*LOADING, "shared-memory", "trace", "logging")
"""The APIs by which a client loads, changes or reads more than a model's answer. What is left answers requests and
describes models, which clients such as perf_analyzer ask for before they send any."""
ALL = (*CHANGING, "health", "metadata", "inference", "model-config", "statistics")
_SINCE = "2.40.0"  # 23.11
_SAGEMAKER_SINCE = "2.67.0"  # 26.03 (server #8686)


@dataclass(frozen=True)
class Secret:
    """The secret of one server."""

    value: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def http(self) -> Mapping[str, str]:
        """The header of HTTP requests."""
        return {_HEADER: self.value}

    @property
    def grpc(self) -> Mapping[str, str]:
        """The metadata of gRPC calls."""
        return {_GRPC_HEADER: self.value}

    def demanded(self, triton: str, *, http: tuple[str, ...] = (), grpc: tuple[str, ...] = ()) -> list[str]:
        """The flags by which tritonserver of this version, such as "2.51.0", demands it for these APIs.
        Raises :class:`EnsembleError`: that one has no such flags."""
        if version(triton) < version(_SINCE):
            message = f"tritonserver {triton} cannot keep web pages from its load requests"
            raise EnsembleError(message, cure="use release 23.11 or later")
        options = (("http-restricted-api", http), ("grpc-restricted-protocol", grpc))
        return [f"--{option}={','.join(apis)}:{_HEADER}={self.value}" for option, apis in options if apis]


def covers_sagemaker(triton: str) -> bool:
    """Return whether this version demands the secret at its SageMaker port as well."""
    return version(triton) >= version(_SAGEMAKER_SINCE)
