"""Conflicts between archives that are members of one multi-model endpoint."""

from collections.abc import Iterable, Iterator

from triton_ensembles.archive.manifest import MANIFEST
from triton_ensembles.checking.built_for import manifest
from triton_ensembles.checking.rule import Finding, Place, Repository, Server, warning
from triton_ensembles.checking.sagemaker import inner_models

_SHOWN = 3


def archives(repositories: tuple[Repository, ...]) -> list[Repository]:
    """The members of the endpoint: the archives, each path once."""
    return list(
        {repository.path.resolve(): repository for repository in repositories if repository.is_archive}.values()
    )


@warning(
    "No two archives of an endpoint have a step of the same name",
    source="core r24.10 model_repository_manager.cc looks for steps by bare names in all repositories; "
    "measured on 2.51.0; server #7489, #5150",
    server=Server.ACCEPTS,
)
def endpoint_shared_step(repositories: tuple[Repository, ...]) -> Iterator[Finding]:
    steps = (
        (model.folder, model.place()) for repository in archives(repositories) for model in inner_models(repository)
    )
    for name, place, elsewhere in _repeated(steps):
        effect = (
            "loading or unloading one archive takes seconds: it reloads the ensembles and Python steps of the others"
        )
        cure = f"give the steps of every archive unique names, such as <ensemble>.{name} (the command build does)"
        yield Finding(place, f"the step '{name}' is also in {elsewhere}", effect, cure)


@warning(
    "No two archives of an endpoint have the same file name",
    source="server r24.10 src/sagemaker_server.cc: 409 (2.51.0)",
)
def endpoint_same_target_model(repositories: tuple[Repository, ...]) -> Iterator[Finding]:
    for name, place, elsewhere in _repeated((archive.path.name, archive.place()) for archive in archives(repositories)):
        message = f"this archive has the same name as {elsewhere}: '{name}'"
        effect = "in one folder of S3 one overwrites the other, and an endpoint keeps serving what it has downloaded"
        yield Finding(place, message, effect, "give each archive a unique name, and a changed one a new name")


@warning("All archives of an endpoint are built for the same target and Triton", source="manifest.json, from building/")
def endpoint_mixed_targets(repositories: tuple[Repository, ...]) -> Iterator[Finding]:
    for key, name, effect in (
        ("target", "target", "an endpoint has one instance type: one of them does not load there, or does not use it"),
        ("triton", "Triton", "an endpoint has one image: a plan or an environment for another may not load there"),
    ):
        by_value: dict[str, list[Repository]] = {}
        for repository in archives(repositories):
            if isinstance(value := manifest(repository).get(key), str):
                by_value.setdefault(value, []).append(repository)
        values = sorted(by_value, key=lambda value: -len(by_value[value]))
        first = [repository.place() for repository in by_value[values[0]]] if values else []
        for value in values[1:]:
            message = f"this archive is built for the {name} {value}, and {_listed(first)} for {values[0]}"
            cure = "build them all for the same target: --target"
            yield Finding(by_value[value][0].place(MANIFEST), message, effect, cure)


def _repeated(named: Iterable[tuple[str, Place]]) -> Iterator[tuple[str, Place, str]]:
    """(name, the second place that has it, the others as text) for every name that several places have."""
    groups: dict[str, list[Place]] = {}
    for name, place in named:
        groups.setdefault(name, []).append(place)
    for name, (first, *more) in groups.items():
        if more:
            yield name, more[0], _listed([first, *more[1:]])


def _listed(places: list[Place]) -> str:
    shown = [str(place) for place in places[:_SHOWN]]
    more = len(places) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
