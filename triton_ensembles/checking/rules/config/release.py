"""Differences between releases: fields that an older server does not know, and checks that a newer one makes."""

import math
from collections.abc import Iterator

from triton_ensembles.checking.examples import SCALE, ensemble, io_tensor, python_model
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


_METRICS = "model_metrics {{ metric_control [ {{ metric_identifier {{ {} }}, histogram_options {{ {} }} }} ] }}"


@rule(
    "model_metrics names a metric family and its buckets",
    source="core r24.11 model_config_utils.cc ValidateModelMetrics",
    since="24.11",
    destination=Destination(image="25.04"),
    bad=python_model(_METRICS.format("", "buckets: [ 1, 5 ]")),
    good=python_model(_METRICS.format('family: "nv_inference_first_response_histogram_ms"', "buckets: [ 1, 5 ]")),
    good_loads=False,
    server=Server.UNTESTED,
)
def model_metrics_incomplete(model: Model, destination: Destination) -> Iterator[Finding]:
    controls = (
        model.config.model_metrics.metric_control if destination.release >= FIRST_RELEASE["model_metrics",] else ()
    )
    for index, control in enumerate(controls):
        for value, subject, field in (
            (control.metric_identifier.family, "metric identifier", "family"),
            (control.histogram_options.buckets, "histogram options", "buckets"),
        ):
            if not value:
                message = f"metric_control {index} has no {field}"
                effect = f"Triton refuses it: {subject} must specify non-empty '{field}'"
                yield Finding(model.at("model_metrics", "metric_control", index), message, effect, f"write {field}: …")


@warning(
    "The dims of an input multiply to less than 2^63",
    source="core r26.03 model_config_utils.h GetElementCount, called by backend_model.cc SetConfiguredScheduler",
    since="26.03",
    bad=python_model(inputs=io_tensor("X", dims="4294967296, 4294967296")),
    good=python_model(inputs=io_tensor("X", dims="65536, 65536")),
)
def tensor_too_large(model: Model) -> Iterator[Finding]:
    for index, tensor in enumerate(model.config.input):
        large = [dim for dim in tensor.dims if dim > 1]
        if tensor.dims and min(tensor.dims) > 0 and (len(large) > 62 or math.prod(large) >= 2**63):
            message = f"input '{tensor.name}' would have 2^{sum(map(math.log2, large)):.0f} elements"
            effect = (
                f"Triton refuses it since release 26.03: element count for tensor '{tensor.name}' exceeds maximum size"
            )
            yield Finding(model.at("input", index, "dims"), message, effect, "write -1 for an axis of any length")
