"""Runs one maker in this process: a job as JSON on standard input, facts as JSON in a file.

python -m triton_ensembles.artifacts.run MAKER FACTS
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from pydantic import TypeAdapter

from triton_ensembles.artifacts import Facts, Job, load_maker
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.extras import missing_extra
from triton_ensembles.ground.system_errors import explained


def main() -> None:
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # see backends/onnxruntime
    maker, facts = sys.argv[1:]
    job = TypeAdapter(Job).validate_json(sys.stdin.read())
    Path(facts).write_text(json.dumps(facts_of(lambda job: load_maker(maker)[1](job), job)))


def facts_of(maker: Callable[[Job], Facts], job: Job) -> Facts:
    """The facts that ``maker`` returns. Where it fails, a sentence ends the process."""
    try:
        return maker(job)
    except EnsembleError as error:
        sys.exit(str(error))
    except ModuleNotFoundError as error:
        if missing := missing_extra(error, "build"):
            sys.exit(str(missing))
        raise
    except OSError as error:
        if known := explained(error):
            sys.exit(str(known))
        raise


if __name__ == "__main__":
    main()
