"""Profiles with the numbers that a test needs."""

from triton_ensembles.measuring.profiling.profile import Answers, Loaded, Machine, Memory, Profile, Versions

MIB = 1 << 20


def profile(
    *,
    name: str = "small",
    form: str = "fused",
    memory: float = 254,
    shared: float = 0,
    kept: float = 0,
    server: float = 0,
    unpacked: float = 100,
    load: float = 1.0,
    load_cores: float = 0.5,
    unload: float = 0.0,
    first: float = 0.0,
    unpack: float = 0.5,
    answer: float = 0.01,
    rested: float | None = None,
    beside: float | None = None,
    core: float = 0.01,
    lanes: int = 1,
    cores: int = 2,
) -> Profile:
    """An archive whose copies take ``memory`` MiB each, which loads in ``load`` and answers in ``answer`` seconds,
    or in ``rested`` when it is asked seldom, ``beside`` a load in that."""

    def answers(concurrency: int, rate: float) -> Answers:
        seconds = concurrency / rate
        return Answers(concurrency, 1, rate, seconds, seconds, seconds, core)

    return Profile(
        rested=answers(1, 1 / (answer if rested is None else rested)),
        archive=f"{name}.tar.gz",
        sha256="0" * 64,
        ensemble=name,
        form=form,  # type: ignore[arg-type]
        created="2026-11-22T12:00:00+00:00",
        packed_bytes=int(unpacked * MIB / 2),
        unpacked_bytes=int(unpacked * MIB),
        temporary_bytes=0,
        unpack_seconds=unpack,
        unpack_core_seconds=unpack,
        load_seconds=load,
        load_core_seconds=load_cores,
        first_seconds=max(first, answer),
        unload_seconds=unload,
        server=Memory(anonymous_bytes=int(server * MIB), mapped_bytes=0),
        loaded=tuple(Loaded(number, Memory(int((shared + number * memory) * MIB), 0)) for number in (1, 4, 16)),
        kept_bytes=int(kept * MIB),
        answers=tuple(answers(number, min(number, lanes) / answer) for number in (1, 2, 4, 8)),
        machine=Machine(processor="a processor", cores=cores, memory_bytes=8192 * MIB),
        versions=Versions(triton="2.51.0", triton_ensembles="0.2.0", python="3.11"),
        beside=answers(1, 1 / beside) if beside else None,
    )
