"""Whether a stub in a model's folder is of the image's release. Its bytes do not name the release (looked for in those
of 2.51.0), so the manifest is all that can be known."""

from collections.abc import Iterator

from triton_ensembles.checking.built_for import manifest
from triton_ensembles.checking.environments import has_stub
from triton_ensembles.checking.rule import Destination, Finding, Model, rule, warning
from triton_ensembles.triton.pip_server import STUB
from triton_ensembles.triton.releases import Release, image_of

SOURCE = "python_backend README r24.10, Building Custom Python Backend Stub: it is built from the server's release"
_EFFECT = "the server and the stub share memory whose layout differs by release: the step does not load, or crashes"


@rule("A stub in an archive is of the image's release of Triton")
def stub_release(model: Model, destination: Destination) -> Iterator[Finding]:
    image, triton = _image_and_stub(model, destination)
    if image and triton and triton != image.triton:
        message = f"this stub is of Triton {triton}, and the image {image.release} has Triton {image.triton}"
        yield Finding(model.place(STUB), message, _EFFECT, f"build the archive for this image: --image {image.release}")


@warning("The release of a stub in a model's folder is known")
def stub_release_unknown(model: Model, destination: Destination) -> Iterator[Finding]:
    image, triton = _image_and_stub(model, destination)
    if image and not triton:
        message = f"nothing says that this stub is of Triton {image.triton}, which the image {image.release} has"
        cure = f"build it from the branch r{image.release} of python_backend, or remove it"
        yield Finding(model.place(STUB), message, f"if it is of another release, {_EFFECT}", cure)


def _image_and_stub(model: Model, destination: Destination) -> tuple[Release | None, str]:
    """Return the image that a model with a stub is for, and the stub's release of Triton, "" if it is unknown."""
    if not (model.is_python and has_stub(model)):
        return None, ""
    written = manifest(model.repository).get("triton")
    return image_of(destination), written if isinstance(written, str) else ""
