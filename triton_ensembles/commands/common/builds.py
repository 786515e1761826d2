"""Common parts of the commands that build: progress, the server over what was built, and the loud warning."""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from triton_ensembles.building.build import ask_sources, build
from triton_ensembles.building.built import Built, choose
from triton_ensembles.building.made.sources import Sources
from triton_ensembles.building.places import Weights
from triton_ensembles.building.request import BuildRequest, Proof
from triton_ensembles.commands.common import options, output
from triton_ensembles.commands.common.arguments import Chosen, log_of
from triton_ensembles.commands.common.output import warn_of_random_weights
from triton_ensembles.ground.errors import shown
from triton_ensembles.server.home import Installation
from triton_ensembles.server.ports import Ports
from triton_ensembles.server.server_command import Reach
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.serving.served import Served, of_built, served, server_of
from triton_ensembles.starter.implied import implied
from triton_ensembles.triton.destination import SingleModel
from triton_ensembles.triton.targets import Target


def requests_for(names: Sequence[str], weights: Weights, target: Target) -> list[BuildRequest]:
    """Return the requests for the named ensembles of the project, or for all that lead."""
    places = options.current_places()
    folders = choose(places.ensembles, names, leading=True)
    return [BuildRequest(folder, target, places, weights) for folder in folders]


def build_all(requests: Sequence[BuildRequest], *, is_result: bool = False) -> list[Built]:
    """Build what is requested, and print the progress. One that fails does not stop the others.

    The sources of all are looked for first, so that a missing one is known at once. With ``is_result``, the archives
    are what the command is for.

    Raises:
        EnsembleError: some failed; when there are several ensembles, it sums up which, after all have been tried.
    """
    sources = Sources(requests[0].weights.weights_dir, requests[0].places.downloads)
    failures = output.Failures(len(requests), "could not be built")
    for request in requests:
        with failures.of(request.name):
            ask_sources(request, sources, timed_progress(request.name))
    results: list[Built] = []
    for request in [request for request in requests if request.name not in failures.errors]:
        with failures.of(request.name):
            started = time.monotonic()
            built = build(request, timed_progress(request.name), sources)
            result = f"built in {time.monotonic() - started:.1f} s" if built.changed else "unchanged, nothing to do"
            _report(built, result, is_result=is_result)
            results.append(built)
    _end(results, failures, is_result=is_result)
    return results


def pack_all(names: Chosen, target: Target, proof: Proof, model: str = "") -> None:
    """Pack the repositories at paths, or build them fused, into dist/ of the project, or of the current folder.
    ``model``: the one of each to build, where there are several.

    Raises :class:`EnsembleError`: some failed; the message sums up which, after all have been tried."""
    failures = output.Failures(len(names.paths), "could not be packed", "repositories")
    places = options.places_anywhere()
    results: list[Built] = []
    for path in names.paths:
        with failures.of(path.name), tempfile.TemporaryDirectory(prefix="build-") as scratch:
            started, progress = time.monotonic(), timed_progress(path.name)
            request = BuildRequest(path, target, places, proof=proof)
            built = build(implied(request, Path(scratch), progress, names.asked, model), progress)
            unchanged = "" if built.changed else ", unchanged"
            _report(built, f"proven in {time.monotonic() - started:.1f} s{unchanged}", is_result=True)
            results.append(built)
    _end(results, failures, is_result=True)


def _report(built: Built, result: str, *, is_result: bool) -> None:
    size = built.archive.stat().st_size / 1e6
    report = output.result if is_result else output.progress()
    report(f"{shown(built.archive)}  {size:.1f} MB  sha256 {built.sha256[:12]}…  {result}")
    warn_of_random_weights(built.name, random=built.random)


def _end(results: Sequence[Built], failures: output.Failures, *, is_result: bool) -> None:
    """Print the archives for programs, and raise what failed."""
    if is_result:
        output.document({"archives": [_record(built) for built in results], "failed": failures.records()})
    failures.raise_any()


def _record(built: Built) -> dict[str, object]:
    facts = {"name": built.name, "archive": str(built.archive), "size": built.archive.stat().st_size}
    return facts | {"sha256": built.sha256, "weights": built.weights, "changed": built.changed}


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
    built = build_all(requests_for(names.ensembles, weights, target)) if names.builds else []
    sources = [of_built(ensemble, options.current_places().ensembles / ensemble.name, server) for ensemble in built]
    alone = SingleModel() if target.single else None
    say = output.progress()
    return sources + [served(path, scratch, say, alone, server, names.asked) for path in names.paths]


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
