"""instance_group: core r24.10 model_config_utils.cc ValidateInstanceGroup."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.field_rule import Path, field_rule, items
from triton_ensembles.checking.rule import Finding, Model, Server, rule
from triton_ensembles.triton.model_config import ModelInstanceGroup
from triton_ensembles.triton.model_formats import PLAN

SOURCE = "core r24.10 model_config_utils.cc ValidateInstanceGroup"
# What bash does not take as it stands in the last argument of a command; variables and redirections do no harm there.
_SHELL_SYNTAX = re.compile(r"""[ \t\n'"`&;|()]|\A\#""")
_QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
CPU, WHOLE = ModelInstanceGroup.KIND_CPU, ModelInstanceGroup.KIND_MODEL


def _group(inner: str) -> str:
    return python_model(f"instance_group [ {{ {inner} }} ]")


GOOD = _group("count: 1, kind: KIND_CPU")


def _groups(model: Model) -> Iterable[tuple[Path, Any]]:
    return () if model.config.HasField("ensemble_scheduling") else items("instance_group")(model)


@rule(
    "The ids in gpus are those of GPUs: 0 or more",
    bad=_group("count: 1, kind: KIND_GPU, gpus: [ -1 ]"),
    words="instance group … of model … specifies invalid or unsupported gpu id …",
)
def instance_group_gpu_negative(model: Model) -> Iterator[Finding]:
    for path, group in _groups(model):
        for number, gpu in enumerate(group.gpus):
            if gpu < 0 and group.kind not in (CPU, WHOLE):  # instance-group-gpus reports those
                cure = "delete gpus (Triton then uses every GPU), or write kind: KIND_CPU for the CPU"
                yield Finding(model.at(*path, "gpus", number), f"there is no GPU {gpu}", cure=cure)


# fmt: off
field_rule("instance-group-gpus", "Only KIND_GPU and KIND_AUTO list gpus",
           at=(_groups, "gpus"),
           when=lambda group: group.gpus and group.kind in (CPU, WHOLE) and group.Kind.Name(group.kind),
           says="{wrong} lists gpus", cure="delete gpus, or write kind: KIND_GPU",
           bad=_group("count: 1, kind: KIND_CPU, gpus: [ 0 ]"),
           words="instance group … of model … has kind … but specifies one or more GPUs")

field_rule("instance-group-profile", "Only TensorRT models have a profile",
           models=lambda model: model.backend.name and model.backend.platform != PLAN.platform,
           at=(_groups, "profile"), when=lambda group: group.profile,
           says="this instance group has an optimization profile, and the model is not a TensorRT plan",
           cure="delete profile",
           bad=_group('count: 1, kind: KIND_CPU, profile: [ "0" ]'),
           words="instance group … of model … specifies profile field which is only supported for TensorRT models")

field_rule("instance-group-name",
           "An instance group of a Python model has no blanks, quotes or other syntax of a shell in its name",
           source='python_backend r24.10 stub_launcher.cc: bash -c "exec <stub> … <name>"; measured on 2.51.0',
           models=lambda model: model.is_python,
           at=(_groups, "name"), when=lambda group: _SHELL_SYNTAX.search(_QUOTED.sub("quoted", group.name)),
           says="the name of this instance group contains {wrong[0]!r}",
           effect="Triton starts a stub by a shell command that has the name in it: tritonserver refuses the model, "
                  "waits for it forever, or ends",
           cure="delete name, or use letters, digits, '.', '-' and '_'",
           bad=_group('name: "cpu;small", count: 1, kind: KIND_CPU'),
           good=_group('name: "on-the-cpu", count: 1, kind: KIND_CPU'), server=Server.DIES)
