"""Differences between releases: fields that an older server does not know, and checks that a newer one makes."""

from collections.abc import Iterator

from triton_ensembles.checking.examples import SCALE, ensemble, python_model
from triton_ensembles.checking.rule import Destination, Finding, Model, Server, rule, warning
from triton_ensembles.triton.releases import changes

# Path of the field -> (year, month) of the first branch of the common repository whose model_config.proto has it.
FIRST_RELEASE = {("model_metrics",): (24, 11), ("ensemble_scheduling", "max_inflight_requests"): (25, 11)}


@rule(
    "Every field exists in the server's release",
    source="common: protobuf/model_config.proto of the branches r24.10 to r26.06 compared",
    bad=ensemble(SCALE).replace("  step [", "  max_inflight_requests: 4\n  step ["),
    good=ensemble(SCALE),
    words="failed to read text proto from …/config.pbtxt",
)
def config_field_too_new(model: Model, destination: Destination) -> Iterator[Finding]:
    for path, release in FIRST_RELEASE.items():
        if destination.release < release and model.file.has(*path):
            first = f"{release[0]}.{release[1]:02}"
            message = f"'{path[-1]}' exists since release {first}, and the server is {destination.release_name}"
            cure = f"delete the line, or name a newer release: --image {first}"
            yield Finding(model.at(*path), message, cure=cure)


@warning(
    "A change of the image changes nothing in how the model behaves",
    source="the release notes that behavior.csv names; the command upgrade asks it",
    destination=Destination(image="26.05", replaces="24.09"),
    bad=python_model("dynamic_batching { default_queue_policy { max_queue_size: 4 } }"),
    good=python_model("dynamic_batching { }"),
    server=Server.UNTESTED,
)
def behavior_changed(model: Model, destination: Destination) -> Iterator[Finding]:
    for change in changes() if destination.replaces else ():
        field = change["uses"].split(".")
        between = destination.replaces < change["release"] <= destination.release_name
        if between and model.file.has(*field):
            message = f"since release {change['release']}, {change['message']}"
            effect = f"source: {change['source']} of triton-inference-server"
            yield Finding(model.at(*field), message, effect, change["cure"])
