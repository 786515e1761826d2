"""The TargetModel that a name without a digest stands for."""

from triton_ensembles.deploy.aws import Aws, aws_errors
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.keys import archive_names
from triton_ensembles.deploy.sagemaker_endpoint import configured_variant, container_of
from triton_ensembles.deploy.stored import stored_archives
from triton_ensembles.ground.errors import EnsembleError


def single_archive(aws: Aws, endpoint: str) -> str:
    """The key of the archive that a single-model endpoint serves; "" for a multi-model endpoint, and where the caller
    may not look. Raises :class:`EnsembleError`: there is no such endpoint."""
    try:
        with aws_errors(f"describe {endpoint}"):
            container = container_of(aws, configured_variant(aws, endpoint)) or {}
    except EnsembleError as error:
        if error.__cause__ is None:
            raise
        return ""
    return container.get("ModelDataUrl", "").rpartition("/")[2] if container.get("Mode") != "MultiModel" else ""


def find_target_model(aws: Aws, endpoint: str, name: str, built: str = "") -> str:
    """The archive of the endpoint that ``name`` stands for: NAME.tar.gz or NAME-DIGEST.tar.gz.

    Of several it is ``built`` if that is one of them, and otherwise the one that was uploaded last.

    Args:
        built: the key of the archive that is in dist/, if there is one. It is also the answer if the caller may invoke
            the endpoint, but not look into it.

    Raises:
        EnsembleError: the endpoint has no such archive, or AWS's reason.
    """
    try:
        with aws_errors(f"list the models of {endpoint}"):
            container = container_of(aws, configured_variant(aws, endpoint)) or {}
            stored = stored_archives(aws, S3Prefix.of_url(container.get("ModelDataUrl", "")))
    except EnsembleError:
        if built:
            return built
        raise
    archives = [key for key in stored if name in archive_names(key)]
    if built in archives:
        return built
    if not archives:
        known = ", ".join(sorted(stored)[:5]) or "none"
        raise EnsembleError(f"{endpoint} has no archive of {name!r}", cure=f"upload it; it has {known}")
    return max(archives, key=lambda key: stored[key]["LastModified"])
