"""The image and the instance that were chosen: do they have what the models need?"""

from __future__ import annotations

from collections.abc import Iterator

from triton_ensembles.check.backend import backend_of
from triton_ensembles.check.examples import python_model
from triton_ensembles.check.fault import Finding, Place, Severity
from triton_ensembles.check.form import Form
from triton_ensembles.check.model import Model
from triton_ensembles.check.repository import Repository
from triton_ensembles.check.rule import Example, Scope, Server, rule
from triton_ensembles.check.spelling import choices, nearest
from triton_ensembles.triton.backends import ENSEMBLE
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.releases import families, image_of, instance_of, releases

_KIND_GPU = 1  # model_config.proto ModelInstanceGroup.Kind


@rule(
    "image-unknown",
    "The image is one of Triton's releases",
    source="releases.csv",
    bad=None,
    good=None,
    scope=Scope.ENDPOINT,
    severity=Severity.WARNING,
    server=Server.UNTESTED,
)
def image_unknown(repositories: tuple[Repository, ...], target: Destination) -> Iterator[Finding]:
    if not target.image or image_of(target):
        return
    first, *_, last = releases()
    yield Finding(
        Place(target.image),
        f"'{target.image}' is no release of Triton that is known here ({first} to {last})"
        if target.image_names_release
        else f"'{target.image}' does not say which release of Triton it has",
        "what this image has is unknown, so nothing that depends on it was checked",
        "name the release (--image 24.09) or the image by its tag (…/sagemaker-tritonserver:24.09-py3)",
    )


@rule(
    "image-not-on-sagemaker",
    "SageMaker has an image of the release",
    source="releases.csv, column sagemaker: what public examples and issues name, which is not all of them",
    bad=None,
    good=None,
    scope=Scope.ENDPOINT,
    severity=Severity.NOTE,
    server=Server.UNTESTED,
)
def image_not_on_sagemaker(repositories: tuple[Repository, ...], target: Destination) -> Iterator[Finding]:
    image = image_of(target)
    if image is None or image.sagemaker:
        return
    known = ", ".join(each.release for each in releases().values() if each.sagemaker)
    yield Finding(
        Place(target.image),
        f"whether SageMaker has an image of Triton {image.release} is unknown here (known: {known})",
        "AWS makes images of some of NVIDIA's releases only, and not in every region at the same time",
        "look it up in AWS's list of Deep Learning Containers (sagemaker-tritonserver)",
    )


@rule(
    "image-backend",
    "The image has the backends of the models",
    source="server build.py on the branches r22.07 to r26.08: enable_all; releases.csv for TensorFlow",
    bad=Example(python_model(backend='platform: "tensorflow_graphdef"', size=8), {"1/model.graphdef": ""}),
    good=Example(python_model(backend='platform: "onnxruntime_onnx"'), {"1/model.onnx": ""}),
    target=Destination(image="25.04"),
    server=Server.UNTESTED,
)
def image_backend(model: Model, target: Destination) -> Iterator[Finding]:
    image, backend = image_of(target), _backend(model)
    if image is None or not backend or backend in image.backends:
        return
    recipe = model.repository.recipe
    if recipe and recipe.makes_model_for(model.folder, image):
        return
    if _brings_backend(model) or not _is_plain(target.image):
        return
    having = [each.release for each in releases().values() if backend in each.backends]
    place = model.at("backend") if model.config.backend else model.at("platform")
    if having:
        yield Finding(
            place,
            f"the image of Triton {image.release} has no {backend} backend",
            f"Triton refuses the model: unable to find backend library for backend '{backend}'",
            f"use an image from {having[0]} to {having[-1]}, or turn the model into ONNX "
            '(platform: "onnxruntime_onnx") or TensorRT',
        )


@rule(
    "image-backend-unknown",
    "The backends of the models are backends of Triton's images",
    source="server build.py on the branches r22.07 to r26.08: enable_all",
    bad=python_model(backend='backend: "rust_tokens"'),
    good=Example(python_model(backend='backend: "rust_tokens"'), {"libtriton_rust_tokens.so": "", "1": None}),
    target=Destination(image="24.09"),
    severity=Severity.WARNING,
    server=Server.UNTESTED,
)
def image_backend_unknown(model: Model, target: Destination) -> Iterator[Finding]:
    image, backend = image_of(target), _backend(model)
    if image is None or not backend or _brings_backend(model):
        return
    known = set().union(*(each.backends for each in releases().values()))
    if backend in known or not _is_plain(target.image):
        return
    if nearest(backend, known):  # a slip of the pen has a rule of its own
        return
    yield Finding(
        model.at("backend"),
        f"'{backend}' is no backend of the images that NVIDIA builds",
        f"unless the image was made with it: unable to find backend library for backend '{backend}'",
        f"the images have {choices(known)}; another backend has to be added to the image",
    )


@rule(
    "instance-unknown",
    "The instance type is one that is known",
    source="instances.csv",
    bad=None,
    good=None,
    scope=Scope.ENDPOINT,
    severity=Severity.WARNING,
    server=Server.UNTESTED,
)
def instance_unknown(repositories: tuple[Repository, ...], target: Destination) -> Iterator[Finding]:
    if not target.instance or instance_of(target.instance):
        return
    family = target.instance.removeprefix("ml.").partition(".")[0]
    meant = nearest(family, families())
    yield Finding(
        Place(target.instance),
        f"the instance type '{target.instance}' is unknown here",
        "whether it has a GPU, and which, is unknown, so nothing that depends on it was checked",
        f"did you mean '{target.instance.replace(family, meant, 1)}'?" if meant else "write it as ml.g5.xlarge",
    )


@rule(
    "instance-without-gpu",
    "Models of an instance without a GPU do not ask for one",
    source="core r24.10 model_config_utils.cc ValidateInstanceGroup; instances.csv",
    bad=python_model("instance_group [ { count: 1, kind: KIND_GPU } ]"),
    good=python_model("instance_group [ { count: 1, kind: KIND_CPU } ]"),
    words="has kind KIND_GPU but no GPUs are available",
    target=Destination(instance="ml.c5.xlarge"),
)
def without_gpu(model: Model, target: Destination) -> Iterator[Finding]:
    instance = instance_of(target.instance) if target.instance else None
    # The build turns the KIND_GPU of a folder of ensembles/ into KIND_CPU; --target cpu has a rule of its own.
    if instance is None or instance.gpu or model.repository.form is Form.SOURCE or target.device == "cpu":
        return
    for number, group in enumerate(model.config.instance_group):
        if group.kind == _KIND_GPU:
            yield Finding(
                model.at("instance_group", number, "kind"),
                f"the instance group is KIND_GPU, and {target.instance} has no GPU",
                "Triton refuses the model: has kind KIND_GPU but no GPUs are available",
                "kind: KIND_CPU",
            )
    if not model.config.instance_group and _backend(model) == "tensorrt":
        yield Finding(
            model.at("platform") if model.config.platform else model.at("backend"),
            f"this is a TensorRT plan, and {target.instance} has no GPU",
            "Triton refuses the model: TensorRT runs on a GPU only",
            'take the ONNX model that the plan was made from: platform: "onnxruntime_onnx"',
        )


def _backend(model: Model) -> str:
    return ENSEMBLE if model.is_ensemble else backend_of(model).name


def _brings_backend(model: Model) -> bool:
    """Whether the backend itself lies in the model's folder, where Triton looks before its own folder."""
    name = f"libtriton_{_backend(model)}.so"
    return any(name in model.children(folder) for folder in ("", *model.versions.values()))


def _is_plain(image: str) -> bool:
    """Whether it is the image with the usual backends, not one for language models or a minimal one."""
    tag = image.rpartition(":")[2]
    return not any(word in tag for word in ("vllm", "trtllm", "min", "sdk", "pyt", "tf2", "igpu"))


RULES = (
    image_unknown,
    image_not_on_sagemaker,
    image_backend,
    image_backend_unknown,
    instance_unknown,
    without_gpu,
)
