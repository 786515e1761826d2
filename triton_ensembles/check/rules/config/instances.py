"""instance_group: core r24.10 model_config_utils.cc ValidateInstanceGroup."""

import re
from collections.abc import Iterator
from typing import Any

from triton_ensembles.check.backend import backend_of
from triton_ensembles.check.examples import plan_model, python_model
from triton_ensembles.check.fault import Finding
from triton_ensembles.check.repository import Form, Model
from triton_ensembles.check.rule import Server, rule
from triton_ensembles.triton.backends import TENSORRT_PLATFORM
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.model_config import ModelInstanceGroup

SOURCE = "core r24.10 model_config_utils.cc ValidateInstanceGroup"
# What bash does not take as it stands in the last argument of a command; variables and redirections do no harm there.
_SHELL_SYNTAX = re.compile(r"""[ \t\n'"`&;|()]|\A\#""")
_QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
CPU, GPU, WHOLE = ModelInstanceGroup.KIND_CPU, ModelInstanceGroup.KIND_GPU, ModelInstanceGroup.KIND_MODEL


def _group(inner: str) -> str:
    return python_model(f"instance_group [ {{ {inner} }} ]")


GOOD = _group("count: 1, kind: KIND_CPU")


def _groups(model: Model) -> Iterator[tuple[int, Any]]:
    if not model.config.HasField("ensemble_scheduling"):
        yield from enumerate(model.config.instance_group)


@rule(
    "Only KIND_GPU and KIND_AUTO list gpus",
    bad=_group("count: 1, kind: KIND_CPU, gpus: [ 0 ]"),
    words="instance group … of model … has kind … but specifies one or more GPUs",
)
def instance_group_gpus(model: Model) -> Iterator[Finding]:
    for index, group in _groups(model):
        if group.kind in (CPU, WHOLE) and group.gpus:
            kind = ModelInstanceGroup.Kind.Name(group.kind)
            yield Finding(
                model.at("instance_group", index, "gpus"),
                f"{kind} lists gpus",
                cure="delete gpus, or write kind: KIND_GPU",
            )


@rule(
    "The ids in gpus are those of GPUs: 0 or more",
    bad=_group("count: 1, kind: KIND_GPU, gpus: [ -1 ]"),
    words="instance group … of model … specifies invalid or unsupported gpu id …",
)
def instance_group_gpu_negative(model: Model) -> Iterator[Finding]:
    for index, group in _groups(model):
        for number, gpu in enumerate(group.gpus):
            if gpu < 0 and group.kind not in (CPU, WHOLE):  # instance-group-gpus reports those
                yield Finding(
                    model.at("instance_group", index, "gpus", number),
                    f"there is no GPU {gpu}",
                    cure="delete gpus (Triton then uses every GPU), or write kind: KIND_CPU for the CPU",
                )


@rule(
    "The kind of an instance group exists",
    bad=_group("count: 1, kind: 9"),
    words="instance group … of model … has unexpected kind",
)
def instance_group_kind_unknown(model: Model) -> Iterator[Finding]:
    for index, group in _groups(model):
        if group.kind not in ModelInstanceGroup.Kind.values():
            yield Finding(
                model.at("instance_group", index, "kind"),
                f"there is no kind {group.kind} of instance group",
                cure="write kind: KIND_CPU, KIND_GPU, KIND_MODEL or KIND_AUTO",
            )


@rule(
    "A model for a machine without a GPU has no instance group of KIND_GPU",
    bad=_group("count: 1, kind: KIND_GPU"),
    words="instance group … of model … has kind KIND_GPU but no GPUs are available",
    destination=Destination(device="cpu"),
)
def instance_group_gpu_on_cpu(model: Model, destination: Destination) -> Iterator[Finding]:
    if destination.device != "cpu" or model.repository.form is Form.SOURCE:  # there the build rewrites it
        return
    for index, group in _groups(model):
        gpus_wanted = group.kind == ModelInstanceGroup.KIND_AUTO and group.gpus
        if group.kind == GPU or gpus_wanted:
            yield Finding(
                model.at("instance_group", index, "kind"),
                "this instance group requires a GPU, and the target has none",
                cure="write kind: KIND_CPU",
            )


@rule(
    "Only TensorRT models have a profile",
    bad=_group('count: 1, kind: KIND_CPU, profile: [ "0" ]'),
    words="instance group … of model … specifies profile field which is only supported for TensorRT models",
)
def instance_group_profile(model: Model) -> Iterator[Finding]:
    for index, group in _groups(model):
        backend = backend_of(model)
        if group.profile and backend.name and backend.platform != TENSORRT_PLATFORM:
            yield Finding(
                model.at("instance_group", index, "profile"),
                "this instance group has an optimization profile, and the model is not a TensorRT plan",
                cure="delete profile",
            )


@rule(
    "A profile is a number, written as a string",
    source="core r24.10 model_config_utils.cc GetProfileIndex, called by ValidateInstanceGroup",
    bad=plan_model('instance_group [ { kind: KIND_GPU, profile: [ "first" ] } ]'),
    good=plan_model('instance_group [ { kind: KIND_GPU, profile: [ "0" ] } ]'),
    server=Server.UNTESTED,
)
def instance_group_profile_number(model: Model) -> Iterator[Finding]:
    for group_index, group in _groups(model):
        for index, profile in enumerate(group.profile):
            if backend_of(model).platform == TENSORRT_PLATFORM and not re.match(r"\s*\+?\d", profile):
                yield Finding(
                    model.at("instance_group", group_index, "profile", index),
                    f"'{profile}' is not the number of an optimization profile",
                    f"Triton refuses it: unable to parse '{profile}', or specifies invalid profile",
                    'write profile: [ "0" ]',
                )


@rule(
    "An instance group of a Python model has no blanks, quotes or other syntax of a shell in its name",
    source='python_backend r24.10 stub_launcher.cc: bash -c "exec <stub> … <name>"; measured on 2.51.0',
    bad=_group('name: "cpu;small", count: 1, kind: KIND_CPU'),
    good=_group('name: "on-the-cpu", count: 1, kind: KIND_CPU'),
    server=Server.DIES,
)
def instance_group_name(model: Model) -> Iterator[Finding]:
    for index, group in _groups(model):
        match = _SHELL_SYNTAX.search(_QUOTED.sub("quoted", group.name))
        if match and backend_of(model).name == "python":
            yield Finding(
                model.at("instance_group", index, "name"),
                f"the name of this instance group contains {match.group()!r}",
                "Triton starts a stub by a shell command that has the name in it: tritonserver refuses the model, "
                "waits for it forever, or ends",
                "delete name, or use letters, digits, '.', '-' and '_'",
            )


@rule(
    "A model has an instance group that is not passive",
    source="common r24.10 model_config.proto, passive; measured on tritonserver 2.51.0",
    bad=_group("count: 1, kind: KIND_CPU, passive: true"),
)
def instance_groups_passive(model: Model) -> Iterator[Finding]:
    groups = [group for _, group in _groups(model)]
    if groups and all(group.passive for group in groups):
        yield Finding(
            model.at("instance_group", 0, "passive"),
            "every instance of this model is passive, and such instances run no requests",
            "Triton loads it, and the first request ends tritonserver",
            "delete passive: true",
        )
