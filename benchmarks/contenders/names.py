"""What the contenders are called in tables, goals and plots."""

from __future__ import annotations

from benchmarks.contenders.limit import ALL_CORES, ONE_THREAD
from benchmarks.peers.servers import PEERS

__all__ = [
    "ALL_CORES",
    "LIMITS",
    "ONE_THREAD",
    "OURS",
    "OURS_BF16",
    "OURS_ENDPOINT",
    "OURS_HTTP",
    "PEER_NAMES",
    "REFERENCE",
]

LIMITS = (ALL_CORES, ONE_THREAD)
OURS = "ours, gRPC"
OURS_HTTP = "ours, HTTP"
OURS_ENDPOINT = "ours, InvokeEndpoint"
OURS_BF16 = "ours bf16, gRPC"
REFERENCE = "reference, gRPC"
PEER_NAMES = tuple(peer.name for peer in PEERS)
