"""Files that run only with the versions and on the GPU that they were made for.

manifest.json of an archive records how each artifact was made. The keys read here, under ``artifacts[path]``:

* ``facts.tensorrt``            version of TensorRT that built a plan, "10.4.0.26"
* ``facts.compute_capability``  of the GPU that it was built on, "8.6"
* ``facts.hardware_compatibility``  "ampere_plus" when it was built for compute capability 8.0 and above
* ``facts.dali``                version of DALI that serialized a pipeline, "1.39.0"
* ``made_from.maker``           "int8_onnx" of a model that is quantized to int8
* ``made_from.tools``           {"nvidia-dali-cuda130": "2.4.0"}, the same in archives whose facts do not have it

A plan has its versions in a header whose layout NVIDIA does not publish, so without a manifest they are unknown.
"""

from collections.abc import Iterator
from typing import Any

from triton_ensembles.archive.manifest import MANIFEST
from triton_ensembles.checking.built_for import artifacts, fact, manifest, table
from triton_ensembles.checking.environments import has_stub, used_environments
from triton_ensembles.checking.rule import Destination, Finding, Model, Place, Repository, rule, warning
from triton_ensembles.triton.releases import agree, image_of, instance_of, is_cpu_image, version


def _files(model: Model, default: str) -> Iterator[tuple[Place, dict[str, Any]]]:
    name = model.config.default_model_filename or default
    for number in model.served_versions:
        path = f"{model.versions[number]}/{name}"
        if model.get(path):
            yield model.place(path), artifacts(model).get(path, {})


def _plans(model: Model) -> Iterator[tuple[Place, dict[str, Any]]]:
    if model.backend.name == "tensorrt" and not model.repository.builds:
        yield from _files(model, "model.plan")


@rule(
    "A TensorRT plan is built on the GPU architecture of the instance",
    source="TensorRT developer guide: engines are specific to the compute capability; manifest.json; instances.csv",
)
def plan_compute_capability(model: Model, destination: Destination) -> Iterator[Finding]:
    instance = instance_of(destination.instance)
    if instance is None or not instance.gpu:
        return
    for place, record in _plans(model):
        built = fact(record, "compute_capability")
        if not built or built == instance.compute_capability:
            continue
        if fact(record, "hardware_compatibility") == "ampere_plus" and version(instance.compute_capability) >= (8,):
            continue
        has = f"{destination.instance} has {instance.gpu} ({instance.compute_capability})"
        message = f"this plan was built on a GPU of compute capability {built}, and {has}"
        effect = "TensorRT does not deserialize a plan of another architecture, so Triton does not load the model"
        yield Finding(place, message, effect, f"build it on an instance of the same family ({destination.instance})")


@rule(
    "A TensorRT plan is built with the TensorRT of the image",
    source="TensorRT developer guide: engines are specific to the version; server issue #5975: also to the build "
    "(8.6.1.2 refuses what 8.6.1.6 built); manifest.json; releases.csv",
)
def plan_tensorrt(model: Model, destination: Destination) -> Iterator[Finding]:
    image = image_of(destination)
    if image is None or not image.tensorrt:
        return
    for place, record in _plans(model):
        built = fact(record, "tensorrt")
        if not built or agree(built, image.tensorrt):  # tensorrt.__version__ may leave the build out
            continue
        message = f"this plan was built with TensorRT {built}, and Triton {image.release} has TensorRT {image.tensorrt}"
        effect = "TensorRT does not deserialize a plan of another version, so Triton does not load the model"
        yield Finding(place, message, effect, f"build the plan in the image tritonserver:{image.release}-py3")


@warning("A DALI pipeline is not serialized by a newer DALI than the image's", source="manifest.json; releases.csv")
def pipeline_dali(model: Model, destination: Destination) -> Iterator[Finding]:
    image = image_of(destination)
    if image is None or not image.dali or model.backend.name != "dali" or is_cpu_image(destination):
        return
    for place, record in _files(model, "model.dali"):
        tools = table(record, "made_from", "tools").items()
        installed = [str(writer) for tool, writer in tools if str(tool).startswith("nvidia-dali")]
        for writer in [fact(record, "dali")] if fact(record, "dali") else installed:
            if version(writer)[:2] > version(image.dali)[:2]:
                message = f"this pipeline is of DALI {writer}, and Triton {image.release} has DALI {image.dali}"
                effect = "an older DALI may not read it: the load fails on the first unknown operator or argument"
                cure = f"serialize it with DALI {image.dali}, or in the image tritonserver:{image.release}-py3"
                yield Finding(place, message, effect, cure)


@warning(
    "A model in int8 runs on processors that have instructions for it",
    source="OpenVINO: int8 is computed with VNNI or AMX; manifest.json; instances.csv",
)
def int8_instructions(repository: Repository, destination: Destination) -> Iterator[Finding]:
    instance = instance_of(destination.instance)
    if instance is None or instance.int8 not in ("no", "some"):
        return
    for path, record in table(manifest(repository), "artifacts").items():
        if isinstance(record, dict) and table(record, "made_from").get("maker") == "int8_onnx":
            whose = "processors without" if instance.int8 == "no" else "partly processors without"
            yield Finding(
                repository.place(MANIFEST),
                f"{path} is quantized to int8, and {destination.instance} has {whose} VNNI or AMX",
                "without them it is no faster than fp32, and less accurate: sums of products saturate at 16 bits",
                "take an instance of a newer family, such as c6i, c7i, m6i or m7i",
            )
            return


@rule("The Python code of an archive is for the image's stub", source="python_backend README r24.10; releases.csv")
def archive_python(repository: Repository, destination: Destination) -> Iterator[Finding]:
    image, data = image_of(destination), manifest(repository)
    python = data.get("python")
    if image is None or not image.python or not isinstance(python, str) or python in ("", image.python):
        return
    if used_environments(repository):  # environment-python looks at them
        return
    models = [model.folder for model in repository.models if model.is_python and not has_stub(model)]
    if models:
        has = f"the stub of Triton {image.release} is for Python {image.python}"
        message = f"the archive's Python code is for Python {python}, and {has}"
        effect = f"{models[0]} does not load: extension modules, as in numpy, are for one minor version of Python"
        cure = f"build it for this image: --target {data.get('target') or 'fused'} --image {image.release}"
        yield Finding(repository.place(MANIFEST), message, effect, cure)
