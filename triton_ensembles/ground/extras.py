"""The packages that the light core leaves out: the packages of each extra, and the line that installs a missing one."""

from collections.abc import Iterable
from importlib.util import find_spec

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.paths import IS_CHECKOUT, SETUP

MODULES = {
    extra: tuple(modules.split())
    for extra, modules in {
        "serve": "aiohttp boto3 botocore flask grpc igraph jinja2 matplotlib moto multidict numpy onnxruntime "
        "prometheus_client pybase64 regex s3transfer tomlkit tritonclient urllib3 uvloop werkzeug yarl",
        "openvino": "openvino",
        "pytorch": "torch",
        "tensorflow": "tensorflow keras",
        "dali": "nvidia",
        "build": "PIL conda_pack huggingface_hub keras nncf numpy nvidia onnx onnxruntime onnxscript openvino rattler "
        "sklearn tensorflow tf2onnx tokenizers torch transformers urllib3",
        "aws": "boto3 botocore numpy tritonclient",
        "lsp": "lsprotocol pygls",
    }.items()
}
"""The modules that are imported of each extra in pyproject.toml."""

ENGINES = {
    "onnxruntime": "onnxruntime",
    "openvino": "openvino",
    "pytorch": "torch",
    "tensorflow": "tensorflow",
    "dali": "nvidia.dali",
}
"""The package that runs the models of a backend; the extra that brings it has the backend's name, or is serve."""

COMMANDS = {
    **dict.fromkeys(("upload", "deploy", "invoke", "autoscale", "status", "undeploy"), "aws"),
    **dict.fromkeys(("build", "engines"), "build"),
    "an s3:// source": "aws",
}
"""The extra that a command, or a part of one, is for, when several have the module; otherwise the first that has it."""


def missing_extra(error: ModuleNotFoundError, command: str = "", wanted: str = "") -> EnsembleError | None:
    """Return what to tell a user for whom ``command`` ended in ``error``; None if no extra brings the module.

    Args:
        wanted: the extra that it is for, by default that of the command.
    """
    module = (error.name or "").partition(".")[0]
    bringing = [extra for extra, modules in MODULES.items() if module in modules]
    if not bringing:
        return None
    extra = wanted or COMMANDS.get(command, "")
    extra = extra if extra in bringing else bringing[0]
    subject = f"{command} needs" if command else "this needs"
    return EnsembleError(f"{subject} the package {module}, which is not installed", cure=_installing(extra))


def _installing(*extras: str) -> str:
    return f"run: {SETUP}" if IS_CHECKOUT else f"run: pip install 'triton-ensembles[{','.join(extras)}]'"


def require(extra: str, feature: str) -> None:
    """Raise :class:`EnsembleError` for the first module of ``extra`` that is not installed. None is imported.

    Args:
        what: needs them, such as the name of a fixture.
    """
    __tracebackhide__ = True  # from pytest, whose fixtures ask this
    for module in MODULES[extra]:
        if not is_installed(module) and (missing := missing_extra(ModuleNotFoundError(name=module), feature, extra)):
            raise missing


def require_engines(backends: Iterable[tuple[str, str]]) -> None:
    """Raise :class:`EnsembleError` when the packages that run models, each given with its backend, are not all
    installed: one error for all of them."""
    needs: dict[str, str] = {}  # of the first model of each backend, by the extra
    for model, backend in backends:
        extra, package = backend if backend in MODULES else "serve", ENGINES.get(backend)
        if package and extra not in needs and not is_installed(package):
            needs[extra] = f"model '{model}' ({backend}) needs the package {package}"
    if needs:
        are = "is" if len(needs) == 1 else "are"
        raise EnsembleError(f"{', and '.join(needs.values())}, which {are} not installed", cure=_installing(*needs))


def is_installed(module: str) -> bool:
    """Return whether ``module``, which may be one of a package, can be imported; it is not."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # which an importer may raise itself
        return False
