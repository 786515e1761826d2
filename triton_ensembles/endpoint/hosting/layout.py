"""What Triton's SageMaker front end sees in an unpacked archive (sagemaker_server.cc, SageMakerMMELoadModel)."""

from __future__ import annotations

import re
from pathlib import Path

_ENSEMBLE = re.compile(r'platform:\s*"ensemble"')  # the front end's own pattern: it reads comments, too


def ensembles_in(repository: Path) -> list[str]:
    """The folders that it takes for ensembles. Of several it serves one: the last in the order of the directory."""
    found = []
    for config in sorted(repository.glob("*/config.pbtxt")):
        if _ENSEMBLE.search(config.read_text(errors="replace")):
            found.append(config.parent.name)
    return found
