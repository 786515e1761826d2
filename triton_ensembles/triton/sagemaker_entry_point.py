"""docker/sagemaker/serve of Triton's image (r24.10): from a container's environment variables to tritonserver's flags.

The script is the entry point of NVIDIA's and AWS's images. This is its mapping, with the same defaults, order and error
messages, but for SAGEMAKER_TRITON_MODEL_LOAD_GPU_LIMIT, a flag for each GPU: the local server has none.
SAGEMAKER_TRITON_INFERENCE_TYPE was added in r25.03 and is read by the server itself.
"""

from collections.abc import Mapping
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.server_process import ServerCommand

MULTI_MODEL = "SAGEMAKER_MULTI_MODEL"
DEFAULT_MODEL = "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"
_PING_MODE = "SAGEMAKER_TRITON_PING_MODE"

# (variable, flag that its value completes, default value; None: no flag). In the script's order.
_FLAGS: tuple[tuple[str, str, str | None], ...] = (
    # The name says "disable", but the script passes the value on: "true" keeps namespacing on.
    ("SAGEMAKER_TRITON_DISABLE_MODEL_NAMESPACING", "--model-namespacing=", "true"),
    ("SAGEMAKER_BIND_TO_PORT", "--sagemaker-port=", None),
    ("SAGEMAKER_SAFE_PORT_RANGE", "--sagemaker-safe-port-range=", None),
    ("SAGEMAKER_TRITON_ALLOW_GRPC", "--allow-grpc=", "false"),
    ("SAGEMAKER_TRITON_ALLOW_METRICS", "--allow-metrics=", "false"),
    ("SAGEMAKER_TRITON_METRICS_PORT", "--metrics-port=", None),
    ("SAGEMAKER_TRITON_GRPC_PORT", "--grpc-port=", None),
    ("SAGEMAKER_TRITON_BUFFER_MANAGER_THREAD_COUNT", "--buffer-manager-thread-count=", None),
    ("SAGEMAKER_TRITON_THREAD_COUNT", "--sagemaker-thread-count=", None),
    ("SAGEMAKER_TRITON_LOG_VERBOSE", "--log-verbose=", "true"),
    ("SAGEMAKER_TRITON_LOG_INFO", "--log-info=", None),
    ("SAGEMAKER_TRITON_LOG_WARNING", "--log-warning=", None),
    ("SAGEMAKER_TRITON_LOG_ERROR", "--log-error=", None),
    ("SAGEMAKER_TRITON_SHM_DEFAULT_BYTE_SIZE", "--backend-config=python,shm-default-byte-size=", "16777216"),
    ("SAGEMAKER_TRITON_SHM_GROWTH_BYTE_SIZE", "--backend-config=python,shm-growth-byte-size=", "1048576"),
    ("SAGEMAKER_TRITON_TENSORFLOW_VERSION", "--backend-config=tensorflow,version=", None),
)


def server_command(environment: Mapping[str, str], repository: Path) -> ServerCommand:
    """How the script starts tritonserver in a container with these variables; ``messages`` is what it prints before.

    The repository stands for /tmp/sagemaker (multi-model: an empty folder) or /opt/ml/model (single model: the unpacked
    archive). Where the script exits with an error, it is raised as :class:`EnsembleError`.
    """
    arguments = ["--allow-sagemaker=true", "--allow-http=false", "--model-control-mode=explicit"]
    arguments.append(f"--model-repository={repository}")
    for variable, flag, default in _FLAGS:
        value = environment.get(variable) or default  # the script treats "" as unset ([ -n … ])
        if value is not None:
            arguments.append(flag + value)
    # The shell splits at spaces and treats quotes as ordinary characters.
    arguments += environment.get("SAGEMAKER_TRITON_ADDITIONAL_ARGS", "").split()

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
