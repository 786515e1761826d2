"""What a step does when its stub starts, in a process of its own: interpreter, numpy, imports of model.py, initialize.

The very files run, in the very Python: that of the step's packed environment, or the server's own for an engine. What
the stub compiles into ``triton_python_backend_utils`` is missing there; ``initialize`` needs of it only what reports
errors, which gets a stand-in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.start_log import StepLoad
from triton_ensembles.environment.inspection import clean_environment
from triton_ensembles.triton.home import find_home, server_environment

_SCRIPT = """
import time
begin = time.time()
import json, sys, types
wanted = json.loads(sys.argv[1])
sys.path[:0] = wanted["paths"]
import triton_python_backend_utils as pb_utils
pb_utils.TritonModelException = RuntimeError
pb_utils.Logger = types.SimpleNamespace(log_warn=print, log_info=print, log_verbose=print)
pb_utils.get_model_dir = lambda: wanted["paths"][0]
utils = time.time()
import model
imported = time.time()
made = model.TritonPythonModel()
if hasattr(made, "initialize"):
    made.initialize(wanted["args"])
ready = time.time()
moments = [wanted["spawned"], begin, utils, imported, ready]
print("PHASES", json.dumps([later - earlier for earlier, later in zip(moments, moments[1:])]), flush=True)
import os
os._exit(0)
"""


@dataclass(frozen=True)
class Phases:
    """Seconds. ``session``: ``initialize``, which makes the tokenizer or the engine's session."""

    interpreter: float
    numpy: float
    imports: float
    session: float


def time_phases(name: str, step: StepLoad, repository: Path) -> Phases:
    """Start the step ``name`` of the unpacked ``repository`` once, outside the server."""
    home = find_home()
    folder = repository / name
    backend = home.backend_directory / step.config["backend"]
    utils = home.backend_directory / "python"
    if step.environment is not None:
        python, environment = step.environment / "bin" / "python3", clean_environment(step.environment)
    else:
        python, environment = Path(sys.executable), server_environment(home)
    code = folder / "1" if step.config["backend"] == "python" else backend
    wanted = {
        "paths": [os.fspath(code), os.fspath(utils)],
        "args": _arguments(name, step.config, folder),
        "spawned": time.time(),
    }
    command = [os.fspath(python), "-B", "-s", "-c", _SCRIPT, json.dumps(wanted)]
    output = subprocess.run(
        command, env=environment, cwd=home.folder, capture_output=True, text=True, check=True
    ).stdout
    line = next(line for line in output.splitlines() if line.startswith("PHASES"))
    return Phases(*json.loads(line.removeprefix("PHASES")))


def _arguments(name: str, config: Mapping[str, object], folder: Path) -> dict[str, str]:
    return {
        "model_name": name,
        "model_config": json.dumps(config),
        "model_repository": os.fspath(folder),
        "model_version": "1",
        "model_instance_kind": "CPU",
        "model_instance_device_id": "0",
        "model_instance_name": f"{name}_0_0",
    }
