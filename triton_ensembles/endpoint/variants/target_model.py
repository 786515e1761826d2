"""The header TargetModel of a request."""

from triton_ensembles.endpoint.variants.spec import Mode
from triton_ensembles.hosting.errors import ValidationError
from triton_ensembles.sagemaker.contract import SHELL_CHARACTERS, TARGET_MODEL


def check_target_model(mode: Mode, target_model: str | None) -> None:
    """Raise ValidationError where a container of this mode takes no such request."""
    if mode == "SingleModel":
        if target_model is not None:
            message = "The endpoint is not a multi-model endpoint and does not support target model header"
            raise ValidationError(message, cure="leave out TargetModel, or create the model with Mode MultiModel")
    elif target_model is None:
        message = "The endpoint is a multi-model endpoint and the request is missing a target model header"
        raise ValidationError(message, cure="name the archive in TargetModel, relative to ModelDataUrl")
    elif not TARGET_MODEL.fullmatch(target_model) or SHELL_CHARACTERS.search(target_model):
        message = (
            f"TargetModel {target_model[:200]!r} is not valid: it must have 1 to 1024 printable characters, "
            "must not begin with a space, and must not have any of ;|&$`<>()[]{}\\\"'*?~#! in it"
        )
        raise ValidationError(message, cure="rename the object")
