"""The form of a packed environment: a folder that lies in the archive, or a .tar.gz that Triton extracts."""

from collections.abc import Iterator

from triton_ensembles.checking.environments import PARAMETER, reference, used_environments
from triton_ensembles.checking.examples import python_model, with_environment
from triton_ensembles.checking.rule import Destination, Finding, Model, Repository, Server, rule, warning
from triton_ensembles.checking.sagemaker import is_packed

_TAKES_FOLDERS = (23, 7)


@warning(
    "An archive for an endpoint has its environment as a folder, not as a .tar.gz",
    source="python_backend r24.10 pb_env.cc: nothing is removed at unload (#8840); after a failed extraction the next "
    "ones also fail; measured on 2.51.0",
    server=Server.ACCEPTS,
)
def environment_tar(repository: Repository, destination: Destination) -> Iterator[Finding]:
    if not is_packed(repository, destination) or destination.release < _TAKES_FOLDERS:
        return
    for packed in used_environments(repository):
        if packed.size and not packed.tree.problems:
            yield Finding(
                repository.place(packed.path),
                "this environment is a .tar.gz",
                f"each endpoint that loads the archive keeps {packed.unpacked:,} bytes in /tmp, even after the model "
                "is unloaded; and once an environment cannot be extracted (a damaged one, a full disk), no other "
                "archive with a .tar.gz loads until the container restarts",
                'store it unpacked: kind = "folder" in the recipe, which is the default (or conda-pack, then tar -xzf '
                f"into the model's folder, without links, and that folder in {PARAMETER})",
            )


@rule(
    f"{PARAMETER} names a folder only for Triton 23.07 or later",
    source="python_backend #266, first in r23.07 pb_env.cc",
    bad=with_environment("3.8"),
    good=python_model(),
    destination=Destination(image="23.02"),
    server=Server.UNTESTED,
)
def environment_folder(model: Model, destination: Destination) -> Iterator[Finding]:
    named = reference(model)
    if destination.release >= _TAKES_FOLDERS or not named or model.repository.builds:
        return
    entry = model.repository.tree.get(named.path)
    if entry and entry.is_folder:
        message = f"'{named.path}' is a folder, and Triton {destination.release_name} takes only a .tar.gz"
        effect = "Triton refuses it: archive_read_open_filename() failed"
        cure = 'use 23.07 or later, or wheels beside model.py (kind = "wheels" in the recipe), or conda-pack\'s .tar.gz'
        yield Finding(model.at("parameters", PARAMETER, "value", "string_value"), message, effect, cure)
