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
from dataclasses import replace

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.script import run_script
from triton_ensembles.project.recipe.makers import PRECISION, RUN

TOOLS = ()
READS = ("artifacts/script.py", "artifacts/accuracy.py", "artifacts/accuracy_on_photographs.py")


def make(job: Job) -> Facts:
    script, model = job.root / str(job.options[RUN]), job.source_file()
    made_from = replace(job, files={name: path for name, path in job.files.items() if name != job.file})
    arguments = {"precision": job.options[PRECISION], "options": job.options["options"]}
    facts = run_script(script, model, made_from, arguments, "this check refuses the file")
    job.output.write_text(json.dumps(facts))
    return facts
