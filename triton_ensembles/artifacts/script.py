"""A file made by a script of the project: ``maker = "script"``, ``run = "scripts/make_model.py"``.

The script is run as ``python scripts/make_model.py OUTPUT JOB``, in the folder of the project, by the Python that
builds. It writes the file OUTPUT. JOB is a JSON file::

    {
      "files": {"weights.bin": "/…"},  # the files of the source, and the artifact that is needed, by name
      "file": "weights.bin",           # the one that the recipe names by file or needs, or null
      "options": {"hidden": 384}       # those of the recipe
    }

What it prints is shown when it fails; its last line is the reason. Its content is part of what decides whether the
artifact is made again, as are its options, its source and the files that the recipe lists in ``reads``: modules that it
imports should be listed there. Versions of packages are not looked at.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.errors import EnsembleError
from triton_ensembles.programs import ProgramError, output_of
from triton_ensembles.recipe.makers import RUN

TOOLS = ()


def make(job: Job) -> Facts:
    script = job.root / str(job.options[RUN])
    options = {name: value for name, value in job.options.items() if name != RUN}
    files = {name: os.fspath(path.absolute()) for name, path in job.files.items()}
    with tempfile.TemporaryDirectory() as scratch:
        given = Path(scratch) / "job.json"
        given.write_text(json.dumps({"files": files, "file": job.file, "options": options}), encoding="utf-8")
        try:
            output_of([sys.executable, script, job.output.absolute(), given], cwd=job.root)
        except ProgramError as error:
            raise EnsembleError(f"this script fails: {error.last_line}", path=script) from error
    if not job.output.is_file():
        message = "this script ended well, but it wrote no file"
        raise EnsembleError(message, path=script, cure="write the model to the path that is its first argument")
    return {}
