"""Where archives are deployed to: the target, instance type and image that their manifests name, or else defaults."""

from collections.abc import Mapping, Sequence

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
_OWN_SERVER = "the server on this machine"


def common_target(archives: Sequence[Archive], otherwise: str) -> str:
    """The target that all archives were built for; ``otherwise`` if they do not say it.
    Raises :class:`EnsembleError`: they were built for several targets, and ``otherwise`` is none of them."""
    targets = {archive.name: archive.target for archive in archives if archive.target}
    if otherwise in targets.values():
        targets = {name: target for name, target in targets.items() if target == otherwise}
    return _common("targets", targets, "choose one with --target") or otherwise


def chosen_instance(archives: Sequence[Archive], target: str, otherwise: str = "") -> str:
    """The instance type that the archives were built for, or else ``otherwise``, or else that of the target.
    Raises :class:`EnsembleError`: they were built for several."""
    instances = {archive.name: archive.instance for archive in archives if archive.instance}
    return _common("instance types", instances, "choose one with --instance") or otherwise or INSTANCES[target]


def chosen_image(archives: Sequence[Archive], target: str, region: str, instance: str, otherwise: str = "") -> str:
    """The URI of the image that the archives were built for, or else ``otherwise``, or else that of the target.
    Raises :class:`EnsembleError`: they were built for several images, or as :func:`image_uri`."""
    images = {archive.name: archive.image for archive in archives if archive.image}
    images |= {archive.name: _OWN_SERVER for archive in archives if archive.is_for_own_server}
    image = _common("images", images, "build them all for one image, or choose one with --image")
    if not image and otherwise and not Destination(image=otherwise).is_of_nvidia:
        return otherwise  # an image of the user's own
    tag = otherwise.rpartition(":")[2] if "/" in otherwise else otherwise
    release = image or tag or RELEASES.get(target, _OWN_SERVER)
    return PIP_SERVER if release == _OWN_SERVER else image_uri(release, region, instance)


def refuse_own_server(archives: Sequence[Archive]) -> None:
    """Refuse archives for the server on this machine. Raises :class:`EnsembleError`: there are any."""
    own = [archive for archive in archives if archive.is_for_own_server]
    if own:
        python = f" (Python {own[0].python})" if own[0].python else ""
        names = ", ".join(archive.name for archive in own)
        message = f"AWS has no image for these archives, built for the server on this machine{python}: {names}"
        cure = "build them for an image of AWS, with --target fused --image 24.09 (make: TARGET=fused IMAGE=24.09)"
        raise EnsembleError(message, cure=cure)


def _common(plural: str, by_archive: Mapping[str, str], cure: str) -> str:
    """Return what is the same for all archives, "" where none says it. Raises :class:`EnsembleError`: it differs."""
    if len(set(by_archive.values())) > 1:
        pairs = ", ".join(f"{name} for {value}" for name, value in by_archive.items())
        raise EnsembleError(f"these archives were built for different {plural}: {pairs}", cure=cure)
    return next(iter(by_archive.values()), "")
