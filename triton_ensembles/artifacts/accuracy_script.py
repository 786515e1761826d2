"""An accuracy check of the project's own: ``accuracy = "scripts/accuracy.py"``.

The script is run as ``python scripts/accuracy.py MODEL JOB``, in the folder of the project, by the Python that builds,
each time that the file MODEL is made and has no random weights. JOB is a JSON file::

    {
      "files": {"weights.bin": "/…"},  # what MODEL was made from: the files of the source, the artifact that is needed
      "precision": "bf16",             # in which the engine of the step computes: "fp32" or "bf16"
      "options": {"at_least": 0.76}    # of the check
    }

Exit code 0 accepts the file. If the last line on standard output is a JSON object, it is noted in the manifest. Any
other exit code stops the build, with the last line that was printed as the reason. The answer is kept until the file,
the script, its options or what it ``reads`` changes.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import parse_json
from triton_ensembles.programs import ProgramError, output_of
from triton_ensembles.recipe.makers import PRECISION, RUN

TOOLS = ()


def make(job: Job) -> Facts:
    script, model = job.root / str(job.options[RUN]), job.source_file().absolute()
    files = {name: os.fspath(path.absolute()) for name, path in job.files.items() if name != job.file}
    given = {"files": files, "precision": job.options[PRECISION], "options": job.options["options"]}
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "job.json"
        path.write_text(json.dumps(given), encoding="utf-8")
        try:
            printed = output_of([sys.executable, script, model, path], cwd=job.root)
        except ProgramError as error:
            raise EnsembleError(f"this check refuses the file: {error.last_line}", path=script) from error
    facts = _facts(printed)
    job.output.write_text(json.dumps(facts))
    return facts


def _facts(printed: str) -> Facts:
    lines = [line for line in printed.splitlines() if line.strip()]
    try:
        found = parse_json(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
