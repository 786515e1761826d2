"""The environment variables of a container."""

from collections.abc import Iterator, Mapping

from triton_ensembles.endpoint.variants.spec import ContainerSpec
from triton_ensembles.triton.sagemaker_variables import MULTI_MODEL, variables

# Those that docker/sagemaker/serve has otherwise: the verbose log takes some kilobytes for each request, and a load
# takes one of the threads (of which the server has 8) for itself.
_DEFAULTS = {"SAGEMAKER_TRITON_LOG_VERBOSE": "false", "SAGEMAKER_TRITON_THREAD_COUNT": "64"}


def container_variables(environment: Mapping[str, str], *, multi_model: bool) -> dict[str, str]:
    """Return the variables that a user has set, with those that the platform sets."""
    return {**_DEFAULTS, **environment, **({MULTI_MODEL: "true"} if multi_model else {})}


def without_effect(spec: ContainerSpec) -> Iterator[str]:
    """Yield a sentence for each variable that works on AWS, and not on this machine."""
    for name in spec.environment:
        if (variable := variables().get(name)) and variable.here:
            yield f"{name} has no effect here: {variable.here}"
