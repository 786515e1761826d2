"""The operators and the version of an ONNX file: whether ONNX Runtime, and that of the image, has them."""

from collections.abc import Iterator

from triton_ensembles.checking.examples import ONNX_IDENTITY, onnx_model
from triton_ensembles.checking.loaded_files import files_read
from triton_ensembles.checking.model_files.file import ModelFile
from triton_ensembles.checking.model_files.onnx_operators import first_opset, is_operator, operators
from triton_ensembles.checking.rule import Destination, Finding, Model, rule
from triton_ensembles.ground.spelling import suggestion
from triton_ensembles.triton.releases import OnnxLimits, image_of, onnx_limits, releases

SOURCE = "ONNX Runtime model_load_utils.h ValidateOpsetForDomain, model.cc; measured on 1.12 to 1.27: onnxruntime.csv"
# Domains of which ONNX Runtime, or one of its execution providers, has operators: which ones, is not looked at.
_BUILT_IN = ("", "ai.onnx.ml", "trt.plugins")
_BUILT_IN_BELOW = ("ai.onnx.training", "ai.onnx.preview", "com.microsoft", "com.ms.", "org.pytorch.aten")
GOOD = onnx_model()


@rule(
    "ONNX Runtime has the operators of an ONNX file",
    source="ONNX Runtime graph.cc VerifyNodeAndOpMatch; measured on 1.17 to 1.31",
    bad=onnx_model(file=ONNX_IDENTITY.replace("Identity", "Identify")),
    words="cannot load model.onnx",
)
def onnx_operator_unknown(model: Model) -> Iterator[Finding]:
    if model.config.model_operations.op_library_filename:  # which may have any
        return
    for path, file in files_read(model, "onnxruntime"):
        opset = file.opsets.get("", 0)
        for domain, name in sorted(file.operators):
            if domain:
                if domain not in _BUILT_IN and not domain.startswith(_BUILT_IN_BELOW):
                    message = f"{path} uses '{domain}:{name}', which is not an operator of ONNX Runtime"
                    effect = "Triton does not load the model: it is not a registered function/op"
                    cure = "name its library with model_operations { op_library_filename: … }, or export without it"
                    yield Finding(model.place(path), message, effect, cure)
            elif opset and name and is_operator(name, opset) is False:
                message = f"{path} is of opset {opset}, which has no operator '{name}'"
                effect = f"Triton does not load the model: No Op registered for {name} with domain_version of {opset}"
                yield Finding(model.place(path), message, effect, _cure(name, opset))


def _cure(name: str, opset: int) -> str:
    first = first_opset(name)
    if first and first > opset:
        return f"export it with opset {first} or later"
    if first:
        return "export it again with the opset that it should have"
    meant = suggestion(name, operators(), "did you mean {}?")
    return meant or "export it again, or write it as a function of the model"


@rule(
    "The ONNX Runtime of the image is new enough for an ONNX file",
    bad=onnx_model(file=ONNX_IDENTITY.replace("\x10\r", "\x10\x63")),
    words="cannot load model.onnx",
    destination=Destination(image="24.09"),
)
def onnx_opset_image(model: Model, destination: Destination) -> Iterator[Finding]:
    image = image_of(destination)
    limits = onnx_limits(image.onnxruntime) if image else None
    if image is None or limits is None:
        return
    for path, file in files_read(model, "onnxruntime"):
        odd = list(_beyond(file, limits))
        if odd:
            needed = [
                release.release
                for release in releases().values()
                if (known := onnx_limits(release.onnxruntime)) and not list(_beyond(file, known))
            ]
            having = " and ".join(f"{kind} {number}" for kind, number, _ in odd)
            most = " and ".join(f"{kind} {most}" for kind, _, most in odd)
            reads = f"ONNX Runtime {image.onnxruntime} of Triton {image.release} reads up to {most}"
            effect = "Triton does not load the model: ONNX Runtime refuses what is newer than itself"
            cure = f"export it with {most}" + (f", or use an image from {needed[0]} on" if needed else "")
            yield Finding(model.place(path), f"{path} has {having}; {reads}", effect, cure)


def _beyond(file: ModelFile, limits: OnnxLimits) -> Iterator[tuple[str, int, int]]:
    """The versions that are too new: name, number in the file, highest number that is read."""
    for kind, number, most in (
        ("IR version", file.ir_version, limits.ir),
        ("opset", file.opsets.get("", 0), limits.onnx),
        ("opset of ai.onnx.ml", file.opsets.get("ai.onnx.ml", 0), limits.ml),
    ):
        if number > most:
            yield kind, number, most
