"""Scripts of the project, run by the Python that builds, in the folder of the project. docs/ensembles.md says how.

``maker = "script"``, ``run = "scripts/make_model.py"``: ``python SCRIPT OUTPUT JOB`` writes the file OUTPUT. JOB is a
JSON file with ``files`` (those of the source, and the artifact that is needed, by name), ``file`` (the one that the
recipe names, or null) and ``options``. A script may use :func:`main`, :mod:`.onnx_export` and :mod:`.torchscript`.

``accuracy = "scripts/accuracy.py"``: ``python SCRIPT MODEL JOB`` judges MODEL each time that it is made without random
weights. JOB has ``files`` (those it was made from), ``precision`` ("fp32" or "bf16", of the engine) and ``options``.

Exit code 0 is a success, and a JSON object in the last line is noted in the manifest; else that line is the reason.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.run import facts_of
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import parse_json
from triton_ensembles.ground.paths import IMPORTED_FROM, IS_CHECKOUT
from triton_ensembles.ground.programs import ProgramError, output_of
from triton_ensembles.project.recipe.artifact_kinds import PRECISION, RUN

TOOLS = ()
READS = (
    *("artifacts/__init__.py", "artifacts/run.py", "artifacts/accuracy.py", "artifacts/accuracy_on_photographs.py"),
    *("artifacts/onnx_export.py", "artifacts/torchscript.py"),
)


def make(job: Job) -> Facts:
    script = job.root / str(job.options[RUN])
    options = {name: value for name, value in job.options.items() if name != RUN}
    facts = run_script(script, job.output, job, {"file": job.file, "options": options}, "this script fails")
    if not job.output.is_file():
        message = "this script ended well, but it wrote no file"
        raise EnsembleError(message, path=script, cure="write the model to the path that is its first argument")
    return facts


def check(job: Job) -> Facts:
    """The accuracy check of the project's own."""
    made_from = replace(job, files={name: path for name, path in job.files.items() if name != job.file})
    arguments = {"precision": job.options[PRECISION], "options": job.options["options"]}
    script = job.root / str(job.options[RUN])
    facts = run_script(script, job.source_file(), made_from, arguments, "this check refuses the file")
    job.output.write_text(json.dumps(facts))
    return facts


def run_script(script: Path, file: Path, job: Job, arguments: Mapping[str, Any], failure: str) -> Facts:
    """Run ``python SCRIPT FILE JOB`` in the project's folder; JOB has ``arguments`` and the job's files. Returns the
    JSON object in its last line, if any. Raises :class:`EnsembleError`, which begins with ``failure``: it fails."""
    files = {name: os.fspath(path.absolute()) for name, path in job.files.items()}
    environment = os.environ | ({"PYTHONPATH": os.fspath(IMPORTED_FROM)} if IS_CHECKOUT else {})
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "job.json"
        path.write_text(json.dumps({"files": files, **arguments}), encoding="utf-8")
        try:
            printed = output_of([sys.executable, script, file.absolute(), path], environment=environment, cwd=job.root)
        except ProgramError as error:
            raise EnsembleError(f"{failure}: {error.last_line}", path=script) from error
    lines = [line for line in printed.splitlines() if line.strip()]
    try:
        facts = parse_json(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def main(maker: Callable[[Job], Facts]) -> None:
    """The whole of a script whose ``maker`` writes ``job.output`` and returns facts for the manifest. An
    :class:`EnsembleError` of the maker ends the script with that sentence."""
    output, path = map(Path, sys.argv[1:])
    arguments = json.loads(path.read_text(encoding="utf-8"))
    files = {name: Path(file) for name, file in arguments["files"].items()}
    job = Job(output, files, arguments["file"], arguments["options"])
    print(json.dumps(facts_of(maker, job)))  # noqa: T201 - the build reads it
