"""Labels for a network with random weights: numbers, since any real name would be a lie."""

from __future__ import annotations

from triton_ensembles.artifacts import Facts, Job

TOOLS: tuple[str, ...] = ()


def make(job: Job) -> Facts:
    count = int(job.options["count"])
    job.output.write_text("".join(f"class {number} (random weights)\n" for number in range(count)))
    return {}
