"""Install what the gateway's reference runs in: python -m benchmarks.aws_gateway"""

from __future__ import annotations

import sys

from benchmarks.aws_gateway.environment import reference_nginx, reference_venv
from triton_ensembles.errors import EnsembleError


def main() -> None:
    try:
        print(f"packages: {reference_venv(print)}")
    except EnsembleError as error:
        sys.exit(f"error: {error}")
    print(f"nginx: {reference_nginx(print)}")


if __name__ == "__main__":
    main()
