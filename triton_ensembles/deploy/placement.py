"""Where archives are deployed to: the target, instance type and image that their manifests name, or else defaults."""

from collections.abc import Sequence

from triton_ensembles.deploy.archives import Archive
from triton_ensembles.deploy.image import PIP_SERVER, image_uri
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.destination import Destination

# The instance type that archives of a target are deployed to when neither they nor the command line say it.
INSTANCES = {
    "cpu": "ml.c5.xlarge",
    "gpu": "ml.g4dn.xlarge",
    # Every loaded model takes memory, also when it is rarely called: docs/targets.md has the GiB per dollar.
    "fused": "ml.m5.xlarge",
}
# The release of AWS's image, likewise: the newest in accounts.csv whose image still has the TensorFlow backend
# (triton/releases.csv). The other targets are for the server on this machine.
RELEASES = {"gpu": "24.09"}


def common_target(archives: Sequence[Archive], otherwise: str) -> str:
    """The target that all archives were built for; ``otherwise`` if they do not say it.
    Raises :class:`EnsembleError`: they were built for several targets, and ``otherwise`` is none of them."""
    targets = {archive.target for archive in archives if archive.target}
    if len(targets) > 1 and otherwise not in targets:
        raise _different("targets", {archive.name: archive.target for archive in archives}, "choose one with --target")
    return targets.pop() if len(targets) == 1 else otherwise


def chosen_instance(archives: Sequence[Archive], target: str, otherwise: str = "") -> str:
    """The instance type that the archives were built for, or else ``otherwise``, or else that of the target.
    Raises :class:`EnsembleError`: they were built for several."""
    instances = {archive.name: archive.instance for archive in archives if archive.instance}
    if len(set(instances.values())) > 1:
        raise _different("instance types", instances, "choose one with --instance")
    return next(iter(instances.values()), otherwise or INSTANCES[target])


def chosen_image(archives: Sequence[Archive], target: str, region: str, instance: str, otherwise: str = "") -> str:
    """The URI of the image that the archives were built for, or else ``otherwise``, or else that of the target.
    Raises :class:`EnsembleError`: they were built for several images, or as :func:`image_uri`."""
    images = {archive.name: archive.image for archive in archives if archive.image or archive.is_for_own_server}
    if len(set(images.values())) > 1:
        cure = "build them all for one image, or choose one with --image"
        raise _different(
            "images", {name: image or "the server on this machine" for name, image in images.items()}, cure
        )
    named = Destination(image=otherwise)
    if not images and otherwise and not named.is_of_nvidia:
        return otherwise  # an image of the user's own
    tag = otherwise.rpartition(":")[2] if "/" in otherwise else otherwise
    release = next(iter(images.values()), tag or RELEASES.get(target, ""))
    return image_uri(release, region, instance) if release else PIP_SERVER


def refuse_own_server(archives: Sequence[Archive]) -> None:
    """Refuse archives for the server on this machine. Raises :class:`EnsembleError`: there are any."""
    own = [archive for archive in archives if archive.is_for_own_server]
    if own:
        python = f" (Python {own[0].python})" if own[0].python else ""
        names = ", ".join(archive.name for archive in own)
        message = f"AWS has no image for these archives, built for the server on this machine{python}: {names}"
        cure = "build them for an image of AWS, with --target fused --image 24.09 (make: TARGET=fused IMAGE=24.09)"
        raise EnsembleError(message, cure=cure)


def _different(plural: str, by_archive: dict[str, str], cure: str) -> EnsembleError:
    pairs = ", ".join(f"{name} for {value or 'an unknown one'}" for name, value in by_archive.items())
    return EnsembleError(f"these archives were built for different {plural}: {pairs}", cure=cure)
