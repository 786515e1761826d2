"""The archives of an endpoint, and the TargetModel that a name without a digest stands for."""

from functools import cached_property
from typing import Any

from triton_ensembles.deploy.aws import Aws, aws_errors
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.keys import SUFFIX, archive_names
from triton_ensembles.deploy.sagemaker_endpoint import configured_variant, container_of
from triton_ensembles.deploy.stored import stored_archives
from triton_ensembles.ground.errors import EnsembleError


class EndpointArchives:
    """The archives that an endpoint serves, asked for once. Who may invoke it need not be allowed to look into it, and
    then can only name what is in dist/."""

    def __init__(self, aws: Aws, endpoint: str) -> None:
        self._aws, self._endpoint = aws, endpoint

    @cached_property
    def alone(self) -> str:
        """The key of the archive of a single-model endpoint; "" for a multi-model one, and where that is not known."""
        try:
            container = self._container
        except EnsembleError:  # the request says it as well
            return ""
        return container.get("ModelDataUrl", "").rpartition("/")[2] if container.get("Mode") != "MultiModel" else ""

    def key(self, name: str, built: str = "") -> str:
        """Return the TargetModel that ``name`` stands for: NAME.tar.gz or NAME-DIGEST.tar.gz; what ends with .tar.gz
        is one itself. Of several it is ``built`` if that is one of them, or else the one that was uploaded last.

        Args:
            built: the key of the archive that is in dist/, if there is one. It is also the answer where the caller may
                not look.

        Raises:
            EnsembleError: the endpoint has no such archive, or AWS's reason.
        """
        if self.alone and name not in (self.alone, *archive_names(self.alone)):
            message = f"{self._endpoint} is a single-model endpoint, of {self.alone}"
            raise EnsembleError(message, cure="leave out MODEL")
        if self.alone or name.endswith(SUFFIX):
            return self.alone or name
        try:
            stored = self._stored
        except EnsembleError:
            if built:
                return built
            raise
        archives = [key for key in stored if name in archive_names(key)]
        if built in archives:
            return built
        if not archives:
            known = ", ".join(sorted(stored)[:5]) or "none"
            raise EnsembleError(f"{self._endpoint} has no archive of {name!r}", cure=f"upload it; it has {known}")
        return max(archives, key=lambda key: stored[key]["LastModified"])

    @cached_property
    def _container(self) -> dict[str, Any]:
        with aws_errors(f"describe {self._endpoint}"):
            return container_of(self._aws, configured_variant(self._aws, self._endpoint)) or {}

    @cached_property
    def _stored(self) -> dict[str, Any]:
        with aws_errors(f"list the models of {self._endpoint}"):
            return stored_archives(self._aws, S3Prefix.of_url(self._container.get("ModelDataUrl", "")))
