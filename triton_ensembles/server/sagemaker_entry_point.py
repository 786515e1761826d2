"""docker/sagemaker/serve of Triton's image: from a container's environment variables to tritonserver's flags.

The script is the entry point of NVIDIA's and AWS's images. This is its mapping, by release, with the same defaults,
order and error messages, but for SAGEMAKER_TRITON_MODEL_LOAD_GPU_LIMIT, a flag for each GPU: the local server has none.
"""

from collections.abc import Mapping
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.server.server_command import ServerCommand
from triton_ensembles.triton.destination import LOCAL
from triton_ensembles.triton.sagemaker_variables import (
    ADDITIONAL_ARGS,
    DEFAULT_MODEL,
    INFERENCE_TYPE,
    INFERENCE_TYPES,
    MULTI_MODEL,
    Release,
    honored,
    variables,
)

_PING_MODE = "SAGEMAKER_TRITON_PING_MODE"


def server_command(
    environment: Mapping[str, str], repository: Path, release: Release = LOCAL, platform: Mapping[str, str] = {}
) -> ServerCommand:
    """Return how the script of ``release`` starts tritonserver in a container with these variables, and those of the
    local ``platform`` in any release; ``messages`` is what it prints before.

    The repository stands for /tmp/sagemaker (multi-model: an empty folder) or /opt/ml/model (single model: the unpacked
    archive). Where the script exits with an error, it is raised as :class:`EnsembleError`.
    """
    environment = {**honored(environment, release), **platform}
    arguments = ["--allow-sagemaker=true", "--allow-http=false", "--model-control-mode=explicit"]
    arguments.append(f"--model-repository={repository}")
    # The shell splits all at spaces and treats quotes as ordinary characters: before ADDITIONAL_ARGS, AWS's notebooks
    # gave further flags in the value of another variable.
    for variable in variables().values():
        value = variable.value(environment, release)
        if variable.flag and value:
            arguments += (variable.flag + value).split()
    arguments += environment.get(ADDITIONAL_ARGS, "").split()
    inference = environment.get(INFERENCE_TYPE) or INFERENCE_TYPES[0]
    if inference not in INFERENCE_TYPES:
        raise EnsembleError(f"Invalid {INFERENCE_TYPE} '{inference}'", cure=f"use one of {', '.join(INFERENCE_TYPES)}")

    multi = environment.get(MULTI_MODEL) == "true"  # only this exact string counts
    messages = []
    ping = environment.get("SAGEMAKER_TRITON_OVERRIDE_PING_MODE") or ("live" if multi else "ready")
    inside = dict(environment)
    # The script sets this variable without exporting it: it reaches tritonserver only if it was set before.
    if _PING_MODE in inside:
        inside[_PING_MODE] = ping
    if multi:
        messages.append(f'Triton is running in SageMaker MME mode. Using Triton ping mode: "{ping}"')
    else:
        model = environment.get(DEFAULT_MODEL) or _only_model(repository, messages)
        if not (repository / model).is_dir():
            cure = f"name one of the archive's folders: {', '.join(_folders(repository)) or 'it has none'}"
            raise EnsembleError(f"Directory with provided {DEFAULT_MODEL} {model} does not exist", cure=cure)
        inside[DEFAULT_MODEL] = model
        arguments.append(f"--load-model={model}")
    return ServerCommand(tuple(arguments), inside, tuple(messages))


def _only_model(repository: Path, messages: list[str]) -> str:
    if (repository / "config.pbtxt").is_file():
        message = "Incorrect directory structure. Model directory needs to contain the top level folder"
        raise EnsembleError(message, cure="put the folder that holds config.pbtxt into the archive, not its content")
    folders = _folders(repository)
    if not folders:
        raise EnsembleError("No model found in model repository", cure="put a model's folder at the archive's root")
    if len(folders) > 1:
        cure = f"provide a single directory, or set {DEFAULT_MODEL} to run the ensemble backend"
        raise EnsembleError(f"More than 1 model directory found in model repository: {' '.join(folders)}", cure=cure)
    messages.append(
        f"WARNING: No {DEFAULT_MODEL} provided. Starting with the only existing model directory {folders[0]}"
    )
    return folders[0]


def _folders(repository: Path) -> list[str]:
    return sorted(entry.name for entry in repository.iterdir() if entry.is_dir() and not entry.is_symlink())
