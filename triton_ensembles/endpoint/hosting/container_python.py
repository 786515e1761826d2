"""The Python that runs the steps of a container: that of its image, where this machine can."""

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.home import find_home, server_python
from triton_ensembles.triton.releases import image_of
from triton_ensembles.triton.stubs import prepare_stubs


def python_for(image: str) -> tuple[str, EnsembleError | None]:
    """The Python for the stubs of a container of this image, such as "3.10", and why it is not the image's.

    It is the one that runs this where the image names no release of Triton, as that of this project's own server.
    """
    release = image_of(Destination(image=image))
    if release is None or release.python in ("", server_python()):
        return server_python(), None
    try:
        prepare_stubs(find_home(), release.python)
    except EnsembleError as error:
        return server_python(), EnsembleError(
            f"the image of Triton {release.release} runs Python steps with Python {release.python}, but here they run "
            f"with Python {server_python()}: {error.message}",
            cure=error.cure,
        )
    return release.python, None
