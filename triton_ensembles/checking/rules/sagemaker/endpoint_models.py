"""Properties that a model cannot have on a multi-model endpoint of SageMaker."""

import math
from collections.abc import Iterator
from typing import Any

from triton_ensembles.checking.config_tensors import ELEMENT_BYTES, type_name
from triton_ensembles.checking.examples import io_tensor, python_model
from triton_ensembles.checking.python.examples import CALLING, class_model
from triton_ensembles.checking.python.model_calls import model_calls
from triton_ensembles.checking.rule import Destination, Finding, Model, Repository, Server, rule
from triton_ensembles.checking.sagemaker import for_sagemaker, is_served, loaded_models, served_models
from triton_ensembles.ground.spelling import suggestion
from triton_ensembles.sagemaker.contract import LARGEST_BODY
from triton_ensembles.triton.releases import instance_of
from triton_ensembles.triton.sagemaker_variables import INFERENCE_TYPE, is_known

_FUSE = (
    "build the fused form, which has the model and answers the call in its own process: build --target fused; or make "
    "it a step of the ensemble (with optional inputs, where it does not need them)"
)
_ALONE = "; or serve it alone, where called models are loaded besides (since 23.07): deploy --single"
_MOST_AXES = 64  # that are looked at

DESTINATION = Destination(instance="ml.g5.xlarge")


def _large(size: int, dims: str) -> str:
    return python_model(inputs=io_tensor("X", dims=dims), outputs=io_tensor("Y", dims=dims), size=size)


@rule(
    "No instance_group lists GPUs by their ids",
    source="core r24.10 model_config_utils.cc ValidateInstanceGroup; AWS: GPU endpoints of several models run on "
    "instances with one GPU",
    bad=python_model("instance_group [ { count: 1, kind: KIND_GPU, gpus: [ 1 ] } ]"),
    good=python_model("instance_group [ { count: 1, kind: KIND_GPU } ]"),
    server=Server.UNTESTED,
)
def sagemaker_gpus(model: Model, destination: Destination) -> Iterator[Finding]:
    if not for_sagemaker(model.repository, destination):
        return
    instance = instance_of(destination.instance)
    if instance and not instance.gpus:  # instance-without-gpu reports it
        return
    available = instance.gpus if instance else 1
    gpus = "one GPU, with the id 0" if available == 1 else f"{available} GPUs, with the ids 0 to {available - 1}"
    has = f"{destination.instance if instance else 'an instance of a multi-model endpoint'} has {gpus}"
    for number, group in enumerate(model.config.instance_group):
        ids = [gpu for gpu in group.gpus if gpu >= 0]  # instance-group-gpu-negative reports the others
        if max(ids, default=-1) < available:
            continue
        message = f"the instance group is bound to GPU {', '.join(map(str, ids[:8]))}"
        effect = f"{has}; for any other Triton refuses the model: specifies invalid or unsupported gpu id"
        cure = "delete gpus: Triton then uses every available GPU"
        yield Finding(model.at("instance_group", number, "gpus", 0), message, effect, cure)


@rule(
    "The model that SageMaker invokes sends one response per request",
    source="server r24.10 src/sagemaker_server.cc CheckTransactionPolicy; measured on 2.51.0",
    bad=python_model("model_transaction_policy { decoupled: true }"),
    good=python_model(),
)
def sagemaker_decoupled(model: Model, destination: Destination) -> Iterator[Finding]:
    repository = model.repository
    if not for_sagemaker(repository, destination) or not is_served(model, destination):
        return
    inference = destination.single.inference if destination.single else "infer"
    known = is_known(INFERENCE_TYPE, destination.release) or (inference and not destination.image)
    if inference != "infer" and known:
        return
    steps = [model.repository.model(step.model_name) for step in model.config.ensemble_scheduling.step]
    for decoupled in (model, *(step for step in steps if step)):
        if decoupled.config.model_transaction_policy.decoupled:
            step = f"'{decoupled.folder}', a step of the ensemble '{model.folder}',"
            subject = "this model" if decoupled is model else step
            message = f"{subject} is decoupled: it may send any number of responses to a request"
            effect = "every request gets 400: HTTP end point doesn't support models with decoupled transaction policy"
            cure = "delete model_transaction_policy, and return one response for each request; or serve it alone with "
            cure += f"release 25.03 or later: deploy --single --env {INFERENCE_TYPE}=generate_stream"
            yield Finding(decoupled.at("model_transaction_policy", "decoupled"), message, effect, cure)


@rule(
    "Every model that a model.py calls is loaded by the ensemble of the archive",
    source="server #5452, deep-learning-containers #3299: SageMaker loads one model and, for an ensemble, its steps",
    bad=class_model(CALLING.format("detector")),
)
def sagemaker_bls(model: Model, destination: Destination) -> Iterator[Finding]:
    repository = model.repository
    if not for_sagemaker(repository, destination) or destination.device == "fused":  # fused-calls
        return
    loaded = {loaded_model.folder for loaded_model in loaded_models(repository, destination)}
    if model.folder not in loaded:
        return
    for call in model_calls(model):
        for called in call.names or ():
            if called in loaded:
                continue
            beside = repository.model(called) is not None
            where = "is not a step of the archive's ensemble" if beside else "is not in the archive"
            message = f"this calls the model '{called}', which {where}"
            effect = (
                f"SageMaker loads the ensemble and its steps alone, and requests fail: Model '{called}' is not ready"
            )
            cure = _FUSE + _ALONE if beside else suggestion(called, loaded) or _FUSE
            yield Finding(call.file.place(call.node), message, effect, cure)


@rule(
    "One row of the inputs fits into a request",
    source="botocore 1.44.5 sagemaker-runtime: a body of InvokeEndpoint has at most 6291456 bytes",
    bad=_large(1, "2048, 2048"),
    good=_large(1, "512, 512"),
)
def sagemaker_row_too_large(repository: Repository, destination: Destination) -> Iterator[Finding]:
    for model, size in _rows(repository, destination):
        if size > LARGEST_BODY:
            message = f"one row of the inputs is {_mb(size)}, and a request to SageMaker is at most {_mb(LARGEST_BODY)}"
            cure = "send it compressed (as JPEG), in a smaller data type, or as an address in S3"
            yield Finding(model.at("input"), message, "InvokeEndpoint refuses every request: ValidationError", cure)


def _rows(repository: Repository, destination: Destination) -> Iterator[tuple[Model, int]]:
    """The model that clients invoke and the bytes of one row of its inputs, where that is a fixed number."""
    models = served_models(repository, destination) if for_sagemaker(repository, destination) else []
    recipe = repository.recipe
    if models and recipe and (written := repository.model(recipe.ensemble_folder)):
        models = [written]
    for model in models if len(models) == 1 else ():
        size = sum(_size(tensor) for tensor in model.config.input if not tensor.optional)
        if size > 0 and not any(_size(tensor) < 0 for tensor in model.config.input):
            yield model, size


def _size(tensor: Any) -> int:
    """Bytes of one row, -1 when it has no fixed size."""
    name = type_name(tensor.data_type)
    if name not in ELEMENT_BYTES or not tensor.dims or any(dim < 1 for dim in tensor.dims):
        return -1
    return int(min(ELEMENT_BYTES[name] * math.prod(tensor.dims[:_MOST_AXES]), 2**62))


def _mb(size: int) -> str:
    return f"{size / 1024 / 1024:,.1f} MiB"
