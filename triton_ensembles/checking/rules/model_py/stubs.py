"""Whether a stub in a model's folder is of the image's release. Its bytes do not name the release (looked for in those
of 2.51.0), so the manifest is all that can be known."""

from collections.abc import Iterator

from triton_ensembles.checking.built_for import manifest
from triton_ensembles.checking.environments import has_stub
from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.loaded_files import file_of
from triton_ensembles.checking.rule import Destination, Example, Finding, Form, Model, Server, Severity, rule
from triton_ensembles.triton.pip_server import STUB
from triton_ensembles.triton.releases import image_of

SOURCE = "python_backend README r24.10, Building Custom Python Backend Stub: it is built from the server's release"
GOOD = python_model()
_EFFECT = "the server and the stub share memory whose layout differs by release: the step does not load, or crashes"


def _with_stub(text: str | None) -> Example:
    return Example(python_model(), {"1/model.py": IDENTITY, **({STUB: text} if text else {})})


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


@rule("A stub in a model's folder is a program", server=Server.DIES, bad=_with_stub("a text\n"), good=_with_stub(None))
def stub_no_program(model: Model) -> Iterator[Finding]:
    path = model.repository.path / model.root / STUB
    if model.is_python and has_stub(model) and model.repository.form is not Form.ARCHIVE and path.is_file():
        file = file_of(model, STUB)
        with path.open("rb") as stream:
            is_program = stream.read(4).startswith((b"\x7fELF", b"#!"))
        if not is_program and not (file and file.is_pointer):  # file-lfs-pointer
            message = "this is no program: it does not begin as one of Linux does, or a script"
            cure = f"build it from python_backend, or delete it: every server has a {STUB}"
            yield Finding(model.place(STUB), message, "it cannot run, and the load never ends", cure)
