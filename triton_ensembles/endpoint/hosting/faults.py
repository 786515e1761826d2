"""Which error InvokeEndpoint gives for what went wrong with a model on its way into the container.

AWS's wording is used where it is known: "Failed to download model data" and "Failed to extract model data archive".
"""

from __future__ import annotations

from pathlib import Path

from triton_ensembles.endpoint.hosting.errors import (
    HostingError,
    InternalFailure,
    ModelError,
    ServiceUnavailable,
    ValidationError,
)
from triton_ensembles.endpoint.hosting.extract import ExtractionError
from triton_ensembles.endpoint.hosting.objects import DownloadFailed, ObjectMissing, split_url

OUT_OF_RESOURCES = 507  # the container's status for lack of memory; the platform's own too, when its budgets are full


def not_on_disk(url: str, error: BaseException) -> HostingError | None:
    """For a download or an extraction that failed; None for an error that is not one of the expected ones."""
    if isinstance(error, ObjectMissing):
        bucket, key = split_url(url)
        return ValidationError(
            f"Failed to download model data(bucket: {bucket}, key: {key}). Please ensure that there is an object "
            "located at the URL",
            cure="upload the archive, or correct TargetModel (it is added to ModelDataUrl)",
        )
    if isinstance(error, DownloadFailed):
        return ServiceUnavailable(f"Failed to download model data: {error.message}", cure=error.cure or "try again")
    if isinstance(error, ExtractionError):
        return ValidationError(
            f'Failed to extract model data archive from URL "{url}": {error.message} ({error.rule})', cure=error.cure
        )
    if isinstance(error, TimeoutError):
        return ServiceUnavailable(f"the download of {url} took too long", cure="try again")
    return None


def not_loaded(target_model: str, status: int, words: str, reasons: list[str], folder: Path) -> ModelError:
    """For a load that the container refused: its own words, and what its log says beyond them.

    An ensemble's own answer names the step that has no version, and only the log why.
    """
    # With namespaces the log calls a step '<folder>::<step>'.
    told = [reason.replace(f"{folder}::", "").replace(f"{folder}/", "") for reason in reasons]
    detail = "; ".join(dict.fromkeys(told)) or words
    cure = "mend what Triton names, and upload the archive under a new name"
    if not any(path.is_file() for path in folder.glob("**/config.pbtxt")):
        detail, cure = "the archive holds no model", "put the models' folders, with config.pbtxt, at the archive's root"
    return ModelError(
        f"Failed to load model '{target_model}': {detail}", original_status=status, original_message=words, cure=cure
    )


def died_while_loading(target_model: str, reasons: list[str]) -> InternalFailure:
    return InternalFailure(
        f"the container died while it loaded '{target_model}'" + "".join(f": {reason}" for reason in reasons[:1]),
        cure="see the endpoint's log; a step that crashes its process or takes all memory does this",
    )


def died_before_loading(target_model: str) -> InternalFailure:
    return InternalFailure(
        f"the container ended twice before it had loaded '{target_model}'; it is being started again",
        cure="try again; see the endpoint's log for its last words",
    )


def load_timed_out(target_model: str, seconds: float) -> ModelError:
    words = f"it was not loaded within {seconds:.0f} s"
    return ModelError(
        f"Failed to load model '{target_model}': {words}, and the container was started anew",
        original_status=0,
        original_message=words,
        cure="make its steps load faster",
    )


def no_room(target_model: str, what: str, needed: int, budget: int, others_in_use: bool) -> HostingError:
    """Neither memory nor disk (``what``) can be freed: either the model is too large, or all others are busy."""
    if others_in_use:
        return ServiceUnavailable(
            f"no room in {what} for model '{target_model}': all other models are in use",
            cure=f"try again, add instances, or raise --{what}-budget",
        )
    words = f"Insufficient {what}: model '{target_model}' brings it to {needed >> 20} MiB of {budget >> 20} MiB"
    return ModelError(
        words,
        original_status=OUT_OF_RESOURCES,
        original_message=words,
        cure=f"raise --{what}-budget, or make the model smaller",
    )
