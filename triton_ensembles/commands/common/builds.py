"""Common parts of the commands that build: progress, the server over what was built, and the loud warning."""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from triton_ensembles.building.build import ask_sources, build
from triton_ensembles.building.built import Built, choose
from triton_ensembles.building.made.sources import Sources
from triton_ensembles.building.places import Weights
from triton_ensembles.commands.common import options, output
from triton_ensembles.commands.common.arguments import Chosen, log_of
from triton_ensembles.commands.common.output import warn_of_random_weights
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.paths import user_folder
from triton_ensembles.server.home import Installation
from triton_ensembles.server.ports import Ports
from triton_ensembles.server.server_process import Reach
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.serving.packing import Packed, pack
from triton_ensembles.serving.served import Served, of_built, served, server_of
from triton_ensembles.starter.fused import build_fused
from triton_ensembles.triton.targets import Target


def build_all(
    names: tuple[str, ...],
    weights: Weights,
    target: Target,
    engines_from: Path | None = None,
    *,
    prove: bool = False,
    keep_locks: bool = False,
    is_result: bool = False,
) -> list[Built]:
    """Build the named ensembles, or all that lead, and print the progress. One that fails does not stop the others.

    The sources of all are looked for first, so that a missing one is known at once.

    Args:
        prove: load each archive once.
        keep_locks: refuse to change the locks of the environments.
        is_result: the archives are the result of the command, and not a step on the way to it.

    Raises:
        EnsembleError: some failed; when there are several ensembles, it sums up which, after all have been tried.
    """
    places = options.current_places()
    folders = choose(places.ensembles, names, leading=True)
    sources = Sources(weights.weights_dir, places.downloads)
    failures = output.Failures(len(folders), "could not be built")
    report = output.result if is_result else output.progress()
    for folder in folders:
        with failures.of(folder.name):
            progress = timed_progress(folder.name)
            ask_sources(folder, target, places, sources, allow_random=weights.allow_random, progress=progress)
    results: list[Built] = []
    for folder in [ensemble for ensemble in folders if ensemble.name not in failures.errors]:
        with failures.of(folder.name):
            started = time.monotonic()
            built = build(
                folder,
                target,
                places,
                allow_random=weights.allow_random,
                weights_dir=weights.weights_dir,
                engines_from=engines_from,
                sources=sources,
                prove=prove,
                keep_locks=keep_locks,
                progress=timed_progress(folder.name),
            )
            result = f"built in {time.monotonic() - started:.1f} s" if built.changed else "unchanged, nothing to do"
            report(_line(built, result))
            warn_of_random_weights(built.name, random=built.random)
            results.append(built)
    if is_result:
        records = [_record(built.name, built, built.manifest["weights"]) for built in results]
        output.document({"archives": records, "failed": failures.records()})
    failures.raise_any()
    return results


def pack_all(paths: Sequence[Path], target: Target, *, ask: bool = False) -> None:
    """Pack the repositories at ``paths``, or build them fused, into dist/ of the project, or of the current folder.
    ``ask``: also send each model a request.

    Raises :class:`EnsembleError`: some failed; the message sums up which, after all have been tried."""
    failures = output.Failures(len(paths), "could not be packed", "repositories")
    places = options.places_if_any()
    dist = places.dist if places else Path("dist")
    packed: Built | Packed
    records = []
    for path in paths:
        with failures.of(path.name):
            if path.is_file():
                cure = "name the folder that it was packed from"
                raise EnsembleError("this is an archive already", path=path, cure=cure)
            started, progress = time.monotonic(), timed_progress(path.name)
            if target.fuses:
                work = places.build if places else user_folder() / "build"
                packed = build_fused(path, path.resolve().name, target, dist, work, progress, ask=ask)
            else:
                with tempfile.TemporaryDirectory(prefix="pack-") as scratch:
                    source = served(path, Path(scratch), progress, target.destination.single)
                    packed = pack(source, dist / f"{source.name}.tar.gz", progress, proof_log=log_of(), ask=ask)
            unchanged = "" if packed.changed else ", unchanged"
            output.result(_line(packed, f"proven in {time.monotonic() - started:.1f} s{unchanged}"))
            records.append(_record(packed.archive.name.removesuffix(".tar.gz"), packed, ""))
    output.document({"archives": records, "failed": failures.records()})
    failures.raise_any()


def _line(packed: Built | Packed, result: str) -> str:
    size = packed.archive.stat().st_size / 1e6
    return f"{shown(packed.archive)}  {size:.1f} MB  sha256 {packed.sha256[:12]}…  {result}"


def _record(name: str, packed: Built | Packed, weights: str) -> dict[str, object]:
    facts = {"name": name, "archive": str(packed.archive), "size": packed.archive.stat().st_size}
    return facts | {"sha256": packed.sha256, "weights": weights, "changed": packed.changed}


def timed_progress(name: str) -> Callable[[str], None]:
    """Prints lines with the name and the seconds since now."""
    started = time.monotonic()
    say = output.progress()
    return lambda line: say(f"[{name} {time.monotonic() - started:5.1f} s] {line}")


def serve_all(
    names: Chosen, weights: Weights, target: Target, scratch: Path, server: Installation | None = None
) -> list[Served]:
    """Sources to serve: the chosen ensembles, built, and what lies at the chosen paths.

    Args:
        scratch: for what is unpacked; the caller removes it after the server.
        server: the Triton that will serve them; None for the one that ``setup`` has installed.
    """
    built = build_all(names.ensembles, weights, target) if names.builds else []
    sources = [of_built(ensemble, options.current_places().ensembles / ensemble.name, server) for ensemble in built]
    return sources + [served(path, scratch, output.progress(), server=server) for path in names.paths]


def server_for(
    all_served: Sequence[Served],
    ports: Ports | None = None,
    arguments: Sequence[str] = (),
    reach: Reach = Reach.PROGRAMS,
) -> TritonServer:
    """A server for them, not started yet, on free ports if none are given.
    Raises :class:`EnsembleError`: they are for different Pythons, or two have a model of one name."""
    say = output.progress()
    server = server_of(
        all_served,
        ports=ports,
        arguments=arguments,
        reach=reach,
        log=log_of(ports.http if ports else None),
        progress=lambda seconds: say(f"  loading, {seconds:.0f} s"),
    )
    own = all_served[0].server
    name = f"tritonserver {own.version} of {shown(own.server)}" if own else "tritonserver"
    say(f"starting {name} with {', '.join(source.name for source in all_served)}; its log is {shown(server.log)}")
    return server
