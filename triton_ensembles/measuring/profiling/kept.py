"""Profiles that were measured before: files named by the archive's sha256, valid as long as that stays."""

from collections.abc import Sequence
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.measuring.profiling.profile import Profile, read_profile

_SUFFIX = ".tar.gz"
_DIGITS = 12  # of the sha256, as in the keys of uploaded archives


def profile_file(folder: Path, archive: Path, sha256: str) -> Path:
    """``folder/bert_trt-0a1b2c3d4e5f.json``."""
    return folder / f"{archive.name.removesuffix(_SUFFIX)}-{sha256[:_DIGITS]}.json"


def kept_profile(
    file: Path,
    sha256: str,
    *,
    copies: Sequence[int],
    concurrencies: Sequence[int],
    batches: Sequence[int],
    progress: Progress,
) -> Profile | None:
    """The profile in ``file`` if it is of the archive with this sha256, and has what is required.

    More copies than its machine had room for, and more rows than its model takes, do not count as missing.
    """
    if not file.is_file():
        return None
    try:
        profile = read_profile(file, sha256)
    except EnsembleError as error:
        progress(f"{error.headline}; measuring it again")
        return None
    counts = [entry.models for entry in profile.loaded]
    kinds = {(entry.concurrency, entry.batch) for entry in profile.answers}
    taken = [batch for batch in batches if batch <= max(batch for _, batch in kinds)]
    requested = {(concurrency, batch) for concurrency in concurrencies for batch in taken}
    if taken and requested <= kinds and {count for count in copies if count <= counts[-1]} <= set(counts):
        return profile
    progress("the profile of before lacks some of the concurrencies, rows or copies; measuring again")
    return None
