"""The release of a stub in a model's folder, compared with the image's. Its bytes do not name it (looked for in those
of 2.51.0), so the manifest is all that can be known."""

from collections.abc import Iterator

from triton_ensembles.checking.built_for import manifest
from triton_ensembles.checking.environments import has_stub
from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.rule import Destination, Finding, Model, Severity, rule
from triton_ensembles.triton.pip_server import STUB
from triton_ensembles.triton.releases import image_of

SOURCE = "python_backend README r24.10, Building Custom Python Backend Stub: it is built from the server's release"
GOOD = python_model()
_EFFECT = "the server and the stub share memory whose layout differs by release: the step does not load, or crashes"


@rule("A stub in a model's folder is of the image's release of Triton", lower=Severity.WARNING)
def stub_release(model: Model, destination: Destination) -> Iterator[Finding]:
    """Yield a warning where nothing says of which release the stub is."""
    image = image_of(destination)
    if image is None or not model.is_python or not has_stub(model):
        return
    triton = manifest(model.repository).get("triton")
    if not isinstance(triton, str) or not triton:
        message = f"nothing says that this stub is of Triton {image.triton}, which the image {image.release} has"
        cure = f"build it from the branch r{image.release} of python_backend, or remove it"
        yield Finding(model.place(STUB), message, f"if it is of another release, {_EFFECT}", cure, Severity.WARNING)
    elif triton != image.triton:
        message = f"this stub is of Triton {triton}, and the image {image.release} has Triton {image.triton}"
        yield Finding(model.place(STUB), message, _EFFECT, f"build the archive for this image: --image {image.release}")
