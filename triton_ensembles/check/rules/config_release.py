"""Fields of ModelConfig that came with a release: an older server refuses them as unknown."""

from __future__ import annotations

from collections.abc import Iterator

from triton_ensembles.check.examples import SCALE, ensemble
from triton_ensembles.check.fault import Finding
from triton_ensembles.check.model import Model
from triton_ensembles.check.rule import rule
from triton_ensembles.check.target import Target

# Path of the field -> (year, month) of the first branch of the common repository whose model_config.proto has it.
FIRST_RELEASE: dict[tuple[str, ...], tuple[int, int]] = {
    ("model_metrics",): (24, 11),
    ("ensemble_scheduling", "max_inflight_requests"): (25, 11),
}


@rule(
    "config-field-too-new",
    "Every field is one that the server's release knows",
    source="common: protobuf/model_config.proto of the branches r24.10 to r26.06 compared",
    bad=ensemble(SCALE).replace("  step [", "  max_inflight_requests: 4\n  step ["),
    good=ensemble(SCALE),
    words="failed to read text proto",
)
def field_too_new(model: Model, target: Target) -> Iterator[Finding]:
    for path, release in FIRST_RELEASE.items():
        if target.release < release and model.file.has(*path):
            yield Finding(
                model.at(*path),
                f"'{path[-1]}' exists since release {release[0]}.{release[1]:02}, the server is {target.release_name}",
                "Triton does not load the model: failed to read text proto from config.pbtxt",
                f"delete the line, or name a newer release: --image {release[0]}.{release[1]:02}",
            )


RULES = (field_too_new,)
