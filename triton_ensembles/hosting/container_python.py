"""The Python of a container's steps."""

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.server.home import Installation, find_home
from triton_ensembles.server.stubs import prepare_stubs
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.pip_server import server_python
from triton_ensembles.triton.releases import image_of, releases


def container_python(image: str, server: Installation | None) -> tuple[str, EnsembleError | None]:
    """Return the Python for the stubs of this image's container, such as "3.10", and why it is not the image's own.

    Where the image names no release of Triton, it is the one that runs this.
    """
    target, oldest = Destination(image=image), next(iter(releases().values()))
    # AWS has images that are older than the table: 21.08, 22.05. They have the Python of its first row.
    release = oldest if target.image_names_release and target.release_name < oldest.release else image_of(target)
    own = server.python if server else server_python()
    if release is None or release.python in ("", own):
        return own, None
    try:
        prepare_stubs(server or find_home(), release.python)
    except EnsembleError as error:
        there = f"the image of Triton {release.release} runs Python steps with Python {release.python}"
        message = f"{there}, but here they run with Python {own}: {error.message}"
        return own, EnsembleError(message, cure=error.cure)
    return release.python, None
