"""Install the peers of the benchmark and prepare their model: python -m benchmarks.peers"""

from __future__ import annotations

import sys

from benchmarks.peers.model import peers_model
from benchmarks.peers.servers import PEERS
from benchmarks.peers.venv import peers_venv
from triton_ensembles.errors import EnsembleError


def main() -> None:
    try:
        venv = peers_venv(print)
        folder = peers_model(print)
    except EnsembleError as error:
        sys.exit(f"error: {error}")
    for peer in PEERS:
        print(f"{peer.name}: {peer.about(venv)}")
    print(f"model: {folder}")


if __name__ == "__main__":
    main()
