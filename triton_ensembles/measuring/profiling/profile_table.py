"""A profile as text for a terminal."""

from triton_ensembles.measuring.perf.sweep_report import aligned
from triton_ensembles.measuring.profiling.profile import Profile

_MIB = 2**20


def table(profile: Profile) -> str:
    """The cost of a cold start, the memory of several copies, and the answers of one."""
    cold = [
        ["", "size", "seconds", "core-s"],
        ["packed", _mib(profile.packed_bytes), "", ""],
        ["unpacked", _mib(profile.unpacked_bytes), *_times(profile.unpack_seconds, profile.unpack_core_seconds)],
        ["left in /tmp", _mib(profile.temporary_bytes), "", ""],
        ["loaded", _mib(profile.loaded[0].memory.bytes), *_times(profile.load_seconds, profile.load_core_seconds)],
        ["first answer", "", f"{profile.first_seconds:.3f}", ""],
        ["unloaded", "", f"{profile.unload_seconds:.2f}", ""],
    ]
    memory = [["loaded", "MiB", "anonymous", "mapped", "each more"]]
    memory.append(["none", *_memory(profile.server.anonymous_bytes, profile.server.mapped_bytes), ""])
    before, models = 0, 0
    for entry in profile.loaded:
        more = (entry.memory.bytes - before) / (entry.models - models) / _MIB
        size = _memory(entry.memory.anonymous_bytes, entry.memory.mapped_bytes)
        memory.append([str(entry.models), *size, f"{more:.1f}"])
        before, models = entry.memory.bytes, entry.models
    if profile.kept_bytes is not None:
        memory.append(["after the largest batch", "", "", "", f"+{profile.kept_bytes / _MIB:.1f}"])
    answers = [["under way", "rows", "requests/s", "p50 ms", "p95 ms", "p99 ms", "core-ms"]]
    for point in (profile.rested, *([profile.beside] if profile.beside else []), *profile.answers):
        times = (point.p50_seconds, point.p95_seconds, point.p99_seconds, point.core_seconds)
        counts = [str(point.concurrency), str(point.batch), f"{point.requests_per_second:.1f}"]
        if point is profile.rested or point is profile.beside:
            counts = ["seldom" if point is profile.rested else "beside a load", str(point.batch), ""]
        answers.append([*counts, *(f"{1000 * seconds:.1f}" for seconds in times)])
        if point is profile.beside:
            answers[-1][-1] = ""  # most of it is the load's
    machine = profile.machine
    about = (
        f"{profile.form}, sha256 {profile.sha256[:12]}…, measured {profile.created} on {machine.cores} cores "
        f"({machine.processor}), {machine.memory_bytes / 2**30:.0f} GiB, Triton {profile.versions.triton}"
    )
    titles = ("one cold start", "memory, of those loaded without the empty server", "answers of one")
    parts = (f"{title}\n{aligned(rows)}" for title, rows in zip(titles, (cold, memory, answers), strict=True))
    return "\n\n".join((about, *parts))


def _mib(size: int) -> str:
    return f"{size / _MIB:.1f} MiB" if size >= _MIB or not size else f"{size / 1024:.1f} KiB"


def _times(seconds: float, core_seconds: float) -> list[str]:
    return [f"{seconds:.2f}", f"{core_seconds:.2f}"]


def _memory(anonymous: int, mapped: int) -> list[str]:
    return [f"{size / _MIB:.1f}" for size in (anonymous + mapped, anonymous, mapped)]
