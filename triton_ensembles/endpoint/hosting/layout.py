"""What Triton's SageMaker front end sees in an unpacked archive (sagemaker_server.cc, SageMakerMMELoadModel)."""

from __future__ import annotations

from pathlib import Path

from triton_ensembles.triton.sagemaker_contract import ENSEMBLE


def ensembles_in(repository: Path) -> list[str]:
    """The folders that it takes for ensembles. Of several it serves one: the last in the order of the directory."""
    found = []
    for config in sorted(repository.glob("*/config.pbtxt")):
        if ENSEMBLE.search(config.read_text(errors="replace")):
            found.append(config.parent.name)
    return found
