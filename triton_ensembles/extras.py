"""What the light core leaves out: the packages of each extra, and the line that installs a missing one."""

from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import IS_CHECKOUT, SETUP

MODULES = {
    "serve": (
        *("aiohttp", "boto3", "botocore", "flask", "jinja2", "matplotlib", "moto", "multidict", "numpy"),
        *("prometheus_client", "regex", "tritonclient", "urllib3", "uvloop", "werkzeug", "yarl"),
    ),
    "build": (
        *("PIL", "conda_pack", "huggingface_hub", "keras", "numpy", "nvidia", "onnx", "onnxruntime", "onnxscript"),
        *("openvino", "rattler", "sklearn", "tensorflow", "tf2onnx", "tokenizers", "torch", "transformers", "urllib3"),
    ),
    "aws": ("boto3", "botocore", "numpy", "tritonclient"),
}
"""The modules that are imported of each extra in pyproject.toml."""

COMMANDS = {
    **dict.fromkeys(("upload", "deploy", "invoke", "autoscale", "status", "undeploy"), "aws"),
    **dict.fromkeys(("build", "engines"), "build"),
    "an s3:// source": "aws",
}
"""The extra that a command, or a part of one, is for, when several have the module; otherwise the first that has it."""


def missing_extra(error: ModuleNotFoundError, command: str = "") -> EnsembleError | None:
    """What to tell a user for whom ``command`` ended in ``error``; None if no extra brings the module."""
    module = (error.name or "").partition(".")[0]
    bringing = [extra for extra, modules in MODULES.items() if module in modules]
    if not bringing:
        return None
    extra = COMMANDS.get(command, "")
    extra = extra if extra in bringing else bringing[0]
    cure = f"run: {SETUP}" if IS_CHECKOUT else f"run: pip install 'triton-ensembles[{extra}]'"
    what = f"{command} needs" if command else "this needs"
    return EnsembleError(f"{what} the package {module}, which is not installed", cure=cure)
