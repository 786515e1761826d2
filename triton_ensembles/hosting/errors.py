"""The errors of InvokeEndpoint, by the names and status codes of botocore's model of sagemaker-runtime (2017-05-13)."""

import errno
import re

from triton_ensembles.ground.errors import EnsembleError

_FOLDER = re.compile(r"/[0-9A-Za-z._/-]*/endpoints/\d+\.[^/\s]+/\d+/models/(?P<hash>[0-9a-f]{32})/model")


class HostingError(EnsembleError):
    """An error with the ``code`` and ``status`` that the client of InvokeEndpoint gets."""

    status = 500

    @property
    def code(self) -> str:
        return type(self).__name__


class ValidationError(HostingError):
    """The request is not valid: TargetModel is missing, not allowed here, or does not exist."""

    status = 400


class ModelError(HostingError):
    """The container (tritonserver) or the model answered with an error.

    ``original_status`` is its HTTP status; 507 also when this platform runs out of memory or disk for the model, 0 when
    the container did not answer in time.
    """

    status = 424

    def __init__(self, message: str, *, original_status: int, original_message: str, cure: str = "") -> None:
        super().__init__(message, cure=cure)
        self.original_status = original_status
        self.original_message = original_message


class LoadFailed(ModelError):
    """The container refuses to load the model, or never ends to load it."""

    code = "ModelError"


class ArchiveMissing(ValidationError):
    """No archive has this name."""

    code = "ValidationError"


class ArchiveRefused(ValidationError):
    """The archive cannot be unpacked."""

    code = "ValidationError"


class ModelNotReadyException(HostingError):
    """The model is still being downloaded or loaded after 60 s; the load continues."""

    status = 429


class InternalFailure(HostingError):
    """The container died while it worked on the request. botocore tries again."""


class ServiceUnavailable(HostingError):
    """No instance can take the request now: the endpoint is stopping, or all models in its memory are in use."""

    status = 503


_KERNEL = {
    errno.ENOENT: "its working folder was deleted while it ran; start it again",
    errno.ENOSPC: "the file system of its working folder is full; free space on it, or choose another with --root",
    errno.EMFILE: "it has as many files open as it may; raise the limit (ulimit -n)",
}


def reason_of(error: Exception) -> str:
    """Return why the kernel has refused the server something, and what to do; "" for an error of another kind."""
    return _KERNEL.get(error.errno or 0, "") if isinstance(error, OSError) else ""


def with_paths_of_aws(text: str, *, multi_model: bool) -> str:
    """A message of the container with ``/opt/ml/models/HASH/model``, or ``/opt/ml/model``, in place of its folder."""
    return _FOLDER.sub(r"/opt/ml/models/\g<hash>/model" if multi_model else "/opt/ml/model", text)
