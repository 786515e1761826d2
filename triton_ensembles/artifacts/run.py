"""Runs one maker in this process: a job as JSON on standard input, facts as JSON in a file.

python -m triton_ensembles.artifacts.run MAKER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from triton_ensembles.artifacts import Job, load_maker
from triton_ensembles.errors import EnsembleError


def main() -> None:
    given = json.load(sys.stdin)
    job = Job(
        output=Path(given["output"]),
        files={name: Path(path) for name, path in given["files"].items()},
        file=given["file"],
        options=given["options"],
        dali_device=given["dali_device"],
        dali_version=given["dali_version"],
        root=Path(given["root"]),
    )
    try:
        facts = load_maker(sys.argv[1])[1](job)
    except EnsembleError as error:
        sys.exit(str(error))
    Path(given["facts"]).write_text(json.dumps(facts))


if __name__ == "__main__":
    main()
