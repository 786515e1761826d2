"""The errors of InvokeEndpoint for a model that cannot be downloaded, unpacked or loaded.

They have AWS's wording where it is known: "Failed to download model data" and "Failed to extract model data archive".
"""

from pathlib import Path

from triton_ensembles.archive.manifest import python_of
from triton_ensembles.ground.errors import shortened
from triton_ensembles.hosting import errors
from triton_ensembles.hosting.model import Model
from triton_ensembles.hosting.report import Report
from triton_ensembles.sagemaker.extraction import ExtractionError

ENDED_STUB = " is not healthy"  # Stub process '…' …: python_backend r24.10 python_be.cc
ENDED_STUB_CURE = (
    "see the endpoint's log for what ended it, and load the model again, here as on AWS: upload the archive under "
    "another name, or update the endpoint"
)
# Core r24.10 (model_lifecycle.cc, model_config_utils.cc), of an archive for a GPU instance.
_NOT_HERE = ("unable to find backend library for backend", "has kind KIND_GPU but no GPUs are available")
_HERE_CURE = "pack a model and config for the CPU (docs/targets.md), or start the endpoint with another --server"
OUT_OF_RESOURCES = 507  # the container's status when memory runs out; the platform's own too, when a budget is used up


def object_missing(bucket: str, key: str) -> errors.ArchiveMissing:
    place = f"bucket: {bucket}, key: {key}"
    message = f"Failed to download model data({place}). Please ensure that there is an object located at the URL"
    cure = "upload the archive, or correct TargetModel (it is added to ModelDataUrl)"
    return errors.ArchiveMissing(message, cure=cure)


def not_downloaded(reason: str, cure: str = "try again") -> errors.ServiceUnavailable:
    """For an object that exists, but could not be downloaded completely."""
    return errors.ServiceUnavailable(f"Failed to download model data: {reason}", cure=cure)


def not_on_disk(url: str, error: BaseException) -> errors.HostingError | None:
    """For a damaged archive, or a download that took too long; None for any other error."""
    if isinstance(error, ExtractionError):
        message = f'Failed to extract model data archive from URL "{url}": {error.message} ({error.rule})'
        return errors.ArchiveRefused(message, cure=error.cure)
    if isinstance(error, TimeoutError):
        return errors.ServiceUnavailable(f"the download of {url} took too long", cure="try again")
    return None


def not_loaded(
    target_model: str, status: int, message: str, reasons: list[str], folder: Path, python: str
) -> errors.ModelError:
    """For a load that the container, whose steps run ``python``, refused: the reasons in its log (a message names only
    the step), or its message."""
    # With namespaces the log calls a step '<folder>::<step>'.
    reasons = [reason.replace(f"{folder}::", "").replace(f"{folder}/", "") for reason in reasons]
    detail = "; ".join(dict.fromkeys(reasons)) or message
    cure = cure_of(detail) or "fix what Triton names, and upload the archive under a new name"
    if not any(path.is_file() for path in folder.glob("**/config.pbtxt")):
        detail = "the archive does not have a model in it"
        cure = "put the models' folders, with config.pbtxt, at the archive's root"
    elif (built_for := python_of({"": folder})) not in ("", python):
        detail += f"; the archive was built for Python {built_for}, and this container's steps run Python {python}"
        cure = (
            "build it for the image's Python (--image RELEASE, also with --target fused), or name an image of its own"
        )
    return _load_failed(target_model, detail, message, cure, status)


def cure_of(reason: str) -> str:
    """Return what to do where the server on this machine lacks what the model needs; "" if Triton's reason is
    another."""
    return _HERE_CURE if any(words in reason for words in _NOT_HERE) else ""


def _load_failed(target_model: str, detail: str, message: str, cure: str, status: int = 0) -> errors.LoadFailed:
    text = f"Failed to load model '{target_model}': {shortened(detail)}"
    return errors.LoadFailed(text, original_status=status, original_message=message, cure=cure)


def died_while_loading(target_model: str, reasons: list[str]) -> errors.InternalFailure:
    message = f"the container died while it loaded '{target_model}'" + "".join(f": {reason}" for reason in reasons[:1])
    cure = "see the endpoint's log: a step that crashes its process or uses all memory does this"
    return errors.InternalFailure(message, cure=cure)


def died_before_loading(target_model: str) -> errors.InternalFailure:
    message = f"the container ended twice before it had loaded '{target_model}'; it is being restarted"
    return errors.InternalFailure(message, cure="try again, or see the end of the endpoint's log")


def never_loaded(target_model: str, reason: str) -> errors.ModelError:
    """For a load that Triton will never answer, though it has logged why."""
    cure = "fix what Triton names, and upload the archive again; on AWS this load blocks the container until it ends"
    return _load_failed(target_model, reason, reason, cure)


def load_timed_out(target_model: str, seconds: float, restarted: bool) -> errors.ModelError:
    message = f"it was not loaded within {seconds:.0f} s"
    then = "the container was restarted" if restarted else "its processes were ended"
    return _load_failed(target_model, f"{message}, so {then}", message, "make its steps load faster")


def note_ended_stub(model: Model, report: Report) -> None:
    """A process of one of the model's Python steps has ended: say so, once."""
    if not model.broken:
        then = "it is loaded again" if model.heals else "Triton starts no other: every request to it fails"
        model.broken = f"a process of its Python steps has ended, and {then}"
        cure = "" if model.heals else ENDED_STUB_CURE
        report.warning(model.target_model, f"'{model.target_model}' is broken: {model.broken}", cure)


def file_system_full(target_model: str, reason: str, others_in_use: bool) -> errors.HostingError:
    """The file system has no room for the model, although the budget has. ``reason``: the kernel's."""
    message = f"Insufficient disk: the file system of the working folder is full ({reason})"
    if others_in_use:
        return errors.ServiceUnavailable(f"{message}, and all other models are in use", cure="try again, or free space")
    text, cure = f"{message}: '{target_model}' does not fit", "free space on it, or choose another folder with --root"
    return errors.ModelError(text, original_status=OUT_OF_RESOURCES, original_message=text, cure=cure)


def not_enough_room(
    target_model: str, resource: str, needed: int, budget: int, others_in_use: bool, environment_bytes: int = 0
) -> errors.HostingError:
    """Not enough memory or disk (``resource``) can be freed: the model is too large, or all others are in use.

    Nothing frees the part of the disk that environments in /tmp take, ``environment_bytes``.
    """
    kept = ""
    smaller = "make the model smaller"
    if environment_bytes:
        kept = f"; environments that Triton has unpacked into /tmp take {environment_bytes >> 20} MiB until it ends"
        smaller = "put environments into archives as folders, not as tars"
    if others_in_use:
        message = f"not enough {resource} for model '{target_model}': all other models are in use{kept}"
        return errors.ServiceUnavailable(message, cure=f"try again, add instances, or raise --{resource}-budget")
    total = f"it would be {needed >> 20} MiB of {budget >> 20} MiB{kept}"
    message = f"Insufficient {resource}: with '{target_model}' {total}"
    cure = f"raise --{resource}-budget, or {smaller}"
    return errors.ModelError(message, original_status=OUT_OF_RESOURCES, original_message=message, cure=cure)
