"""The profile of one archive: its size, memory, cold start and answers, as a JSON file with a schema version.

    profile = read_profile(Path("build/profiles/fused/digits.json"))
    profile.loaded[-1].memory.bytes        16 copies of it, beside the empty server

All times are in seconds, all sizes in bytes. A profile that is read has every field, finite and not negative, or it is
refused.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import read_json, write_file
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.ground.progress import Progress
from triton_ensembles.measuring.profiling.load import Load

SCHEMA = 3
"""Raised whenever a profile of before cannot be read as one of now."""

RESTED_PER_SECOND = 2.0
"""Requests a second with which ``rested`` is measured, or half of what one connection would get if that is less."""

_LONGEST = 1 << 20  # bytes of a file
_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
_MOST_BYTES = 1 << 60
_MOST_SECONDS = 1e6


Bytes = Annotated[int, Field(ge=0, le=_MOST_BYTES)]
SomeBytes = Annotated[int, Field(gt=0, le=_MOST_BYTES)]
Seconds = Annotated[float, Field(ge=0, le=_MOST_SECONDS)]
SomeSeconds = Annotated[float, Field(gt=0, le=_MOST_SECONDS)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Name = Annotated[str, Field(min_length=1, max_length=1000)]


@dataclass(frozen=True, config=_STRICT)
class Memory:
    """Memory as the kernel divides it among the processes that share it (PSS).

    Attributes:
        anonymous_bytes: private to the processes: heaps, arenas, buffers. It can only be freed by an unload.
        mapped_bytes: pages of files and shared memory: libraries, mapped weights, tensors on their way to a step.
    """

    anonymous_bytes: Bytes
    mapped_bytes: Bytes

    @property
    def bytes(self) -> int:
        """Both, which is what a memory budget counts."""
        return self.anonymous_bytes + self.mapped_bytes


@dataclass(frozen=True, config=_STRICT)
class Loaded:
    """Copies of the archive in one server, loaded under names of their own, each of which has answered requests.

    Attributes:
        models: how many copies.
        memory: what the server and all its processes take, less the empty server.
    """

    models: Count
    memory: Memory


@dataclass(frozen=True, config=_STRICT)
class Answers:
    """The answers of one loaded copy, with a fixed number of requests under way.

    Attributes:
        concurrency: requests under way.
        batch: rows in a request.
        requests_per_second: requests, not rows.
        p50_seconds, p95_seconds, p99_seconds: from sending a request to its whole answer.
        core_seconds: processor time of the server and its processes for one request, without that of the client.
    """

    concurrency: Count
    batch: Count
    requests_per_second: Annotated[float, Field(gt=0, le=1e9)]
    p50_seconds: SomeSeconds
    p95_seconds: SomeSeconds
    p99_seconds: SomeSeconds
    core_seconds: Seconds


@dataclass(frozen=True, config=_STRICT)
class Machine:
    """The machine of the measurement: the processor's name, the cores that may be used, and the memory."""

    processor: str
    cores: Count
    memory_bytes: SomeBytes


@dataclass(frozen=True, config=_STRICT)
class Versions:
    """The versions of what it was measured with."""

    triton: Name
    triton_ensembles: Name
    python: Name


@dataclass(frozen=True, config=_STRICT)
class Profile:
    """The demand of an archive, alone on an idle machine.

    Attributes:
        archive: its file name.
        sha256: of the archive: the profile is valid for these bytes only.
        ensemble: the name of what it serves.
        form: "drawn", an ensemble and its steps, or "fused", one model.
        created: ISO 8601, with a time zone.
        packed_bytes: the archive.
        unpacked_bytes: what it takes on the disk of an instance, unpacked.
        temporary_bytes: what a loaded copy leaves in /tmp: environments that Triton unpacks, and keeps until it ends.
        unpack_seconds, unpack_core_seconds: of unpacking, and its processor time.
        load_seconds: from the request to load it to the container's answer, the archive's files having been read
            before, beside as many as were loaded; the median of several.
        load_core_seconds: processor time of the server and its processes for that.
        first_seconds: of the first answer after a load, of one row, as Triton counts it; the median of several.
        unload_seconds: until its memory is free; the median of several.
        server: the memory of the server with nothing loaded.
        loaded: by ascending numbers of copies, 1 first.
        rested: answers, of the fewest rows, to requests :data:`RESTED_PER_SECOND`: between them the processor and its
            caches rest as well. One connection would get ``requests_per_second`` of them.
        answers: by concurrency and batch.
        kept_bytes: what a copy keeps, beyond ``loaded``, of a request with as many rows as the model takes; None where
            it was not measured.
        beside: as ``rested``, while another copy is loaded and unloaded all the time; None where one alone was loaded.
    """

    archive: Name
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    ensemble: Name
    form: Literal["drawn", "fused"]
    created: Name
    packed_bytes: SomeBytes
    unpacked_bytes: SomeBytes
    temporary_bytes: Bytes
    unpack_seconds: Seconds
    unpack_core_seconds: Seconds
    load_seconds: SomeSeconds
    load_core_seconds: Seconds
    first_seconds: Seconds
    unload_seconds: Seconds
    server: Memory
    loaded: Annotated[tuple[Loaded, ...], Field(min_length=1)]
    rested: Answers
    answers: Annotated[tuple[Answers, ...], Field(min_length=1)]
    machine: Machine
    versions: Versions
    kept_bytes: Bytes | None = None
    beside: Answers | None = None


def read_profile(path: Path, sha256: str = "") -> Profile:
    """The profile in the JSON file at ``path``.

    Args:
        sha256: of the archive that it has to be of.

    Raises:
        EnsembleError: it is of another schema, has a key too many, too few or with an impossible value, or is the
            profile of another archive.
    """
    try:
        value = read_json(path, _LONGEST)
    except ValueError as error:
        raise _unusable(f"this is not a profile, but no JSON: {error}", path) from error
    if not isinstance(value, dict) or value.pop("schema", None) != SCHEMA:
        raise _unusable(f"this is not a profile of schema {SCHEMA}, which is known here", path)
    try:
        # From text once more: a strict tuple is a list there, and a float may be written as 1.
        profile = _PROFILE.validate_json(json.dumps(value))
    except ValidationError as error:
        raise _unusable(f"this profile is damaged: {_first_fault(error)}", path) from error
    if sha256 and profile.sha256 != sha256:
        raise _unusable(f"this is the profile of another archive, of sha256 {profile.sha256[:12]}…", path)
    return profile


def write_profile(profile: Profile, path: Path) -> None:
    """Write it, in whole or not at all, with its schema. The folder is made."""
    write_file(path, json.dumps(document(profile), indent=2) + "\n")


def document(profile: Profile) -> dict[str, Any]:
    """The content of the file that :func:`write_profile` writes."""
    return {"schema": SCHEMA} | asdict(profile)


_PROFILE = TypeAdapter(Profile)


def _unusable(message: str, path: Path) -> EnsembleError:
    return EnsembleError(message, path=path, cure=f"measure the archive again: {COMMAND} profile --fresh ARCHIVE")


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"


_SUFFIX = ".tar.gz"
_DIGITS = 12  # of the sha256, as in the keys of uploaded archives


def profile_file(folder: Path, archive: Path, sha256: str) -> Path:
    """``folder/bert_trt-0a1b2c3d4e5f.json``."""
    return folder / f"{archive.name.removesuffix(_SUFFIX)}-{sha256[:_DIGITS]}.json"


def kept_profile(file: Path, sha256: str, load: Load, progress: Progress) -> Profile | None:
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
    taken = [batch for batch in load.batches if batch <= max(batch for _, batch in kinds)]
    requested = {(concurrency, batch) for concurrency in load.concurrencies for batch in taken}
    if taken and requested <= kinds and {count for count in load.copies if count <= counts[-1]} <= set(counts):
        return profile
    progress("the profile of before lacks some of the concurrencies, rows or copies; measuring again")
    return None
