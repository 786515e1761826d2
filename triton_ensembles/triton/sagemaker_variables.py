"""The variables that configure SageMaker's container of Triton, by release: sagemaker_variables.csv."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import table_rows
from triton_ensembles.ground.spelling import nearest
from triton_ensembles.triton.releases import version

MULTI_MODEL = "SAGEMAKER_MULTI_MODEL"
DEFAULT_MODEL = "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"
ADDITIONAL_ARGS = "SAGEMAKER_TRITON_ADDITIONAL_ARGS"
INFERENCE_TYPE = "SAGEMAKER_TRITON_INFERENCE_TYPE"
ALLOW_METRICS = "SAGEMAKER_TRITON_ALLOW_METRICS"
PUBLISH_METRICS = "SAGEMAKER_TRITON_PUBLISH_METRICS_TO_CLOUDWATCH"
METRIC_NAMESPACE = "SAGEMAKER_TRITON_METRIC_NAMESPACE"
LOG_GROUP = "SAGEMAKER_TRITON_CLOUDWATCH_LOG_GROUP"
INFERENCE_TYPES = ("infer", "generate", "generate_stream")

_TABLE = Path(__file__).with_name("sagemaker_variables.csv")
_OF_TRITON = re.compile(r"SAG\w*TRIT|TRITON_SAGEM", re.IGNORECASE)  # also misspelt; SAGEMAKER_PROGRAM is another's
_NAMESPACE = re.compile(r"(?!AWS/)[0-9A-Za-z._/# -][0-9A-Za-z._/#: -]{0,254}")  # API reference of PutMetricData
_BEGINNING = re.compile(r"^(SAG[A-Z]*[_-])?(TRIT[A-Z]*[_-])?(SAGEM[A-Z]*[_-])?")

Release = tuple[int, int]  # (24, 10)


@dataclass(frozen=True)
class Variable:
    """A row of the table; releases are numbers, "" means that there is none."""

    variable: str
    since: str
    flag: str
    default: str
    default_since: str
    platform: str
    here: str

    def is_in(self, release: Release) -> bool:
        """Return whether the container of this release reads it."""
        return version(self.since) <= release

    def value(self, environment: Mapping[str, str], release: Release) -> str:
        """The value that the container of this release has for it; "" if it has none. The script treats "" as unset."""
        has_default = self.default_since and version(self.default_since) <= release
        return environment.get(self.variable) or (self.default if has_default else "")


@cache
def variables() -> dict[str, Variable]:
    """All variables by name, in the order of the script."""
    return {row["variable"]: Variable(**row) for row in table_rows(_TABLE)}


def is_known(name: str, release: Release) -> bool:
    """Return whether the container of this release reads the variable."""
    return variables()[name].is_in(release)


def honored(environment: Mapping[str, str], release: Release) -> dict[str, str]:
    """The variables without those that the container of this release does not read yet."""
    return {name: value for name, value in environment.items() if name not in variables() or is_known(name, release)}


def variable_faults(environment: Mapping[str, str], release: Release) -> list[EnsembleError]:
    """Return what the container of this release would silently ignore: variables that are unknown, misspelt, or of a
    later release; and a value of SAGEMAKER_TRITON_INFERENCE_TYPE with which it does not start. Each has its cure."""
    faults = []
    number = "{:02}.{:02}".format(*release)
    for name, value in environment.items():
        known = variables().get(name)
        if known and not known.is_in(release):
            cure = f"leave it out, or use an image of {known.since} or later"
            message = f"{name} has no effect in release {number}: Triton's container reads it since {known.since}"
            faults.append(EnsembleError(message, cure=cure))
        elif name == INFERENCE_TYPE and value not in ("", *INFERENCE_TYPES):
            faults.append(EnsembleError(f"Invalid {name} '{value}'", cure=f"use one of {', '.join(INFERENCE_TYPES)}"))
        elif name == METRIC_NAMESPACE and not _NAMESPACE.fullmatch(value):
            cure = "use 1 to 255 letters, digits and ./-_#: or blanks, not beginning with AWS/ or a colon"
            faults.append(EnsembleError(f"CloudWatch takes no metrics in the namespace '{value}'", cure=cure))
        elif not known and (_OF_TRITON.search(name) or nearest(name, [MULTI_MODEL]) == MULTI_MODEL):
            meant = _meant(name)
            cure = f"did you mean {meant}?" if meant else "leave it out; docs/triton-on-sagemaker.md lists all"
            faults.append(EnsembleError(f"Triton's container reads no variable {name}", cure=cure))
    return faults


def _meant(name: str) -> str:
    """The variable of which ``name`` is a misspelling; their common beginning makes none of them near."""
    names = {_BEGINNING.sub("", known): known for known in variables()}
    return names.get(nearest(_BEGINNING.sub("", name.upper()), [*names, ""]) or _BEGINNING.sub("", name.upper()), "")
