"""The profiles of a plan: files of profiles, archives that were profiled, or all of a folder."""

import math
from collections.abc import Sequence
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.measuring.planning.workload import Shares
from triton_ensembles.measuring.profiling.profile import Profile, profile_file, read_profile

_PROFILE = ".json"


def chosen_profiles(names: Sequence[str], folder: Path) -> Shares:
    """The profiles and the share of the models that each has.

    Args:
        names: ``PROFILE.json``, ``ARCHIVE.tar.gz``, each with ``:SHARE`` or without; () for all of ``folder``.
        folder: where ``profile`` keeps its files.

    Raises:
        EnsembleError: one is missing or damaged, is the profile of another archive, or has an impossible share.
    """
    if not names:
        return [(profile, 1.0) for profile in _kept(folder)]
    pairs = []
    for text in names:
        name, share = _parted(text)
        path = Path(name)
        if not path.is_file():
            raise EnsembleError(f"there is no file '{name}'", cure=_CURE)
        profile = read_profile(path) if path.suffix == _PROFILE else _of_archive(path, folder)
        pairs.append((profile, share))
    if len({share is None for _, share in pairs}) > 1:
        message = "some profiles have a share of the models and others have none"
        raise EnsembleError(message, cure="give all of them one")
    return [(profile, share or 1.0) for profile, share in pairs]


_CURE = f"measure an archive first: {COMMAND} profile ARCHIVE"


def _parted(text: str) -> tuple[str, float | None]:
    name, colon, share = text.rpartition(":")
    if not colon or Path(text).is_file():
        return text, None
    try:
        number = float(share.removesuffix("%")) / (100 if share.endswith("%") else 1)
    except ValueError:
        return text, None
    if not (math.isfinite(number) and number > 0):
        cure = f"give a number above 0, such as {name}:0.7"
        raise EnsembleError(f"'{share}' is not a share of the models", cure=cure)
    return name, number


def _of_archive(archive: Path, folder: Path) -> Profile:
    sha256 = file_digest(archive)
    path = profile_file(folder, archive, sha256)
    if path.is_file():
        return read_profile(path, sha256)
    raise EnsembleError("it was not profiled", path=archive, cure=f"measure it first: {COMMAND} profile {archive}")


def _kept(folder: Path) -> list[Profile]:
    """The latest of each ensemble and form."""
    latest: dict[tuple[str, str], Profile] = {}
    for path in sorted(folder.glob(f"*{_PROFILE}")):
        profile = read_profile(path)
        key = (profile.ensemble, profile.form)
        if key not in latest or latest[key].created < profile.created:
            latest[key] = profile
    if not latest:
        raise EnsembleError("no archive of this project was profiled", cure=_CURE)
    return list(latest.values())
