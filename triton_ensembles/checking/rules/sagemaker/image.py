"""Return whether the chosen image and instance have what the models need."""

from collections.abc import Iterator

from triton_ensembles.checking.built_for import is_for_own_server
from triton_ensembles.checking.examples import GRAPH_IDENTITY, ONNX_IDENTITY, python_model
from triton_ensembles.checking.field_rule import items
from triton_ensembles.checking.rule import Destination, Example, Finding, Model, Place, Server, note, rule, warning
from triton_ensembles.triton.backends import ENSEMBLE, SERVER_BRANCHES
from triton_ensembles.triton.model_config import ModelInstanceGroup
from triton_ensembles.triton.releases import backends_of, image_of, instance_of, is_cpu_image, releases
from triton_ensembles.triton.targets import GPU_BACKENDS


@warning("The image is one of Triton's releases", source="releases.csv")
def image_unknown(destination: Destination) -> Iterator[Finding]:
    if not destination.image or image_of(destination):
        return
    first, *_, last = releases()
    known = f"is not a known release of Triton ({first} to {last})"
    message = f"'{destination.image}' {known if destination.image_names_release else 'names no release of Triton'}"
    effect = "the contents of this image are unknown, so nothing that depends on them was checked"
    cure = "name the release (--image 24.09) or the image by its tag (…/sagemaker-tritonserver:24.09-py3)"
    yield Finding(Place(destination.image), message, effect, cure)


@note("SageMaker has an image of the release", source="releases.csv, from AWS's lists of Deep Learning Containers")
def image_not_on_sagemaker(destination: Destination) -> Iterator[Finding]:
    image = image_of(destination)
    if image is None or image.sagemaker:
        return
    known = [release.release for release in releases().values() if release.sagemaker]
    earlier = [name for name in known if name < image.release]
    around = known[max(len(earlier) - 1, 0) : len(earlier) + 1]
    message = f"it is unknown whether SageMaker has an image of Triton {image.release} (it has {' and '.join(around)})"
    effect = "AWS publishes images of only some of NVIDIA's releases, and not in all regions at the same time"
    cure = "look it up in AWS's list of Deep Learning Containers (sagemaker-tritonserver)"
    yield Finding(Place(destination.image), message, effect, cure)


@rule(
    "The image has the backends of the models",
    source=f"server build.py on the branches {SERVER_BRANCHES}: enable_all; releases.csv for TensorFlow; server "
    "docs/customization_guide/build.md for images without a GPU",
    bad=Example(python_model(backend='platform: "tensorflow_graphdef"', size=8), {"1/model.graphdef": GRAPH_IDENTITY}),
    good=Example(python_model(backend='platform: "onnxruntime_onnx"'), {"1/model.onnx": ONNX_IDENTITY}),
    destination=Destination(image="25.04"),
    server=Server.UNTESTED,
)
def image_backend(model: Model, destination: Destination) -> Iterator[Finding]:
    backends, backend = _backends(model, destination), _backend(model)
    if backends is None or not backend or backend in backends:
        return
    if backend == "tensorrt" and _reason_without_gpu(model, destination):  # instance-without-gpu reports it
        return
    recipe = model.repository.recipe
    if recipe and recipe.makes_model_for(model.folder, [known for known in GPU_BACKENDS if known in backends]):
        return
    if model.has_library(f"libtriton_{backend}.so") or not destination.has_usual_backends:
        return
    image = image_of(destination)
    having = [known.release for known in releases().values() if backend in known.backends]
    refusal = f"Triton refuses it: unable to find backend library for backend '{backend}'"
    place = model.at("backend") if model.config.backend else model.at("platform")
    release = image.release if image else "RELEASE"
    if having and is_cpu_image(destination) and (image is None or backend in image.backends):
        message = f"'{model.folder}' needs the {backend} backend, which SageMaker's {release}-py3-cpu does not have"
        picks = f"AWS's SDK picks that image for {destination.instance}, which has no GPU. {refusal}"
        cure = f"choose the complete image, which also runs on CPU instances: --image {release}-py3"
        cure = "use an instance type with a GPU" if backend == "tensorrt" else cure
        yield Finding(place, message, refusal if destination.image_is_for_cpu else picks, cure)
    elif having and image:
        message = f"the image of Triton {image.release} has no {backend} backend, which '{model.folder}' needs"
        also = "" if is_cpu_image(destination) else " or TensorRT"
        cure = f'use an image from {having[0]} to {having[-1]}, or convert it to ONNX ("onnxruntime_onnx"){also}'
        yield Finding(place, message, refusal, cure)


@warning("The GPUs of the instance type are known", source="instances.csv")
def instance_unknown(destination: Destination) -> Iterator[Finding]:
    if not destination.instance or instance_of(destination.instance):
        return
    message = f"the GPUs of the instance type '{destination.instance}' are unknown"
    cure = "compare the models with AWS's page of the instance type yourself"
    yield Finding(Place(destination.instance), message, "nothing that depends on the GPU was checked", cure)


@rule(
    "SageMaker's image runs on the processor of the instance",
    source="aws/deep-learning-containers release_images_inference.yml at d2ee9322: arch_type x86; instances.csv",
)
def instance_architecture(destination: Destination) -> Iterator[Finding]:
    instance = instance_of(destination.instance)
    if instance is None or instance.architecture == "x86_64":
        return
    if destination.image in ("", destination.release_name) or "sagemaker-tritonserver" in destination.image:
        message = f"SageMaker's images of Triton are for x86_64, and {destination.instance} has {instance.architecture}"
        effect = "the container does not start, so the endpoint never gets into service"
        cure = "use an instance type with an Intel or AMD processor, such as ml.m5.xlarge"
        yield Finding(Place(destination.instance), message, effect, cure)


@rule(
    "Models for a target, an instance or an image without a GPU do not require one",
    source="core r24.10 model_config_utils.cc ValidateInstanceGroup; instances.csv",
    bad=python_model("instance_group [ { count: 1, kind: KIND_GPU } ]"),
    good=python_model("instance_group [ { count: 1, kind: KIND_CPU } ]"),
    words="has kind KIND_GPU but no GPUs are available",
    destination=Destination(device="cpu"),
)
def instance_without_gpu(model: Model, destination: Destination) -> Iterator[Finding]:
    reason = _reason_without_gpu(model, destination)
    if reason and _backend(model) == "tensorrt":
        message = f"'{model.folder}' is a TensorRT plan, and {reason}"
        effect = "Triton refuses it: the tensorrt backend runs only on a GPU, and the image for CPU instances has none"
        cure = 'use the ONNX model that the plan was made from: platform: "onnxruntime_onnx"'
        yield Finding(model.at("platform") if model.config.platform else model.at("backend"), message, effect, cure)
        return
    if destination.device == "cpu" and not model.repository.builds:
        reason = "the target has none"
    for path, group in items("instance_group")(model) if reason and not model.is_ensemble else ():
        if group.kind == ModelInstanceGroup.KIND_GPU or (group.kind == ModelInstanceGroup.KIND_AUTO and group.gpus):
            message = f"the instance group requires a GPU, and {reason}"
            yield Finding(model.at(*path, "kind"), message, cure="write kind: KIND_CPU, without gpus")


def _reason_without_gpu(model: Model, destination: Destination) -> str:
    """Say why no GPU is available, "" if one may be, and for the backends of ``--target cpu``. The build turns the
    KIND_GPU of a folder of ensembles/ into KIND_CPU."""
    if model.repository.builds or destination.device == "cpu":
        return ""
    instance = instance_of(destination.instance)
    if instance and not instance.gpus:
        return f"{destination.instance} has no GPU"
    return f"the image {destination.image} is built without GPUs" if is_cpu_image(destination) else ""


def _backends(model: Model, destination: Destination) -> frozenset[str] | None:
    """The backends of the image that the models will run in; None if they are unknown, or if it is no image: this
    project's own server, or what the fused archive made of a folder of ensembles/ brings."""
    if not destination.image and (destination.device == "cpu" or is_for_own_server(model.repository)):
        return None
    if destination.device == "fused" and model.repository.builds:
        return None
    return backends_of(destination)


def _backend(model: Model) -> str:
    return ENSEMBLE if model.is_ensemble else model.backend.name
