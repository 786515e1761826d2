"""The memory model of plans: what each loaded copy of a model takes, and what its copies have in common."""

from triton_ensembles.measuring.profiling.profile import Profile


def memory_of(profile: Profile) -> tuple[float, float]:
    """Bytes of one more copy, and bytes that all copies share: a line through the fewest and the most that were
    loaded. Any copy may have answered its largest batch, and keeps what the profile's copy has kept."""
    memory = [(loaded.models, float(loaded.memory.bytes)) for loaded in profile.loaded]
    (_, first), (count, last) = memory[0], memory[-1]
    slope = (last - first) / (count - 1) if count > 1 else first
    copy = slope if slope > 0 else last / count
    return copy + (profile.kept_bytes or 0), max(0.0, first - copy)
