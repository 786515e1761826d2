"""Arguments that are ensembles of the project, or paths."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from triton_ensembles.building.places import Places
from triton_ensembles.commands.common import options
from triton_ensembles.ground.errors import UsageError
from triton_ensembles.ground.paths import user_folder
from triton_ensembles.project.declared import NOTHING, Asked
from triton_ensembles.project.recipe.places import find_ensembles
from triton_ensembles.server.ports import Ports

# Of an ensemble's build: what lies at a path is taken as it is.
_OF_RECIPES = ("weights", "weights_dir", "engines_from", "locked")


def with_packages(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --requirements and --with, which :func:`asked` reads."""
    kept: dict[str, Any] = {"multiple": True, "expose_value": False, "callback": _keep}
    found = "the requirements.txt of the models or beside them, an environment.yml, a Dockerfile or a pyproject.toml"
    files = click.option(
        "--requirements",
        metavar="FILE",
        type=options.FILE,
        help=f"PATH: what pip installs for its Python steps. May be repeated.  [default: {found}]",
        **kept,
    )
    packages = click.option(
        "--with", "packages", metavar="PACKAGE", help="PATH: a package for its Python steps. May be repeated.", **kept
    )
    return files(packages(command))


def _keep(context: click.Context, option: click.Parameter, value: tuple[Any, ...]) -> None:
    context.meta[f"{__name__}.{option.name}"] = value


def asked() -> Asked:
    """The values of --requirements and --with of the command that runs now."""
    meta = click.get_current_context().meta
    requirements, packages = (tuple(meta.get(f"{__name__}.{name}", ())) for name in ("requirements", "packages"))
    return Asked(requirements, packages)


def argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the arguments that :func:`chosen` takes, and the options of their packages."""
    names = click.argument("names", nargs=-1, metavar="[ENSEMBLE|PATH|ARCHIVE]...")
    return names(with_packages(command))


@dataclass(frozen=True)
class Chosen:
    """Ensembles of the project by name, and paths of repositories, models and archives. Without either: all ensembles.

    Attributes:
        asked: for the steps at the paths.
        builds: whether any ensembles of the project are meant.
    """

    ensembles: tuple[str, ...]
    paths: tuple[Path, ...]
    asked: Asked = NOTHING

    @property
    def builds(self) -> bool:
        return bool(self.ensembles) or not self.paths


def chosen(arguments: Sequence[str], *, fuses: bool = False) -> Chosen:
    """An argument with a slash is a path. One without is an ensemble of that name if there is one, or else a path.
    ``fuses``: what lies at a path is built for the fused target, whose options it takes.

    Raises:
        UsageError: an argument is neither, or an ensemble is not of the current project.
        click.UsageError: there are paths, and options that are only for builds.
    """
    places = options.places_if_any()
    known = _ensembles(places)
    names: list[str] = []
    paths: list[Path] = []
    for argument in arguments:
        path = os.path.realpath(argument) if "/" in argument else ""
        own = next((name for name, folder in known.items() if path and path == os.path.realpath(folder)), None)
        if own or ("/" not in argument and argument in known):
            names.append(own or argument)
        elif Path(argument).exists():
            paths.append(Path(argument))
        else:
            raise _neither(argument, known, places)
    if paths:
        _refuse_options(paths[0], _OF_RECIPES if fuses else ("target", "instance", *_OF_RECIPES))
    steps = asked()
    if (names or not paths) and steps != NOTHING:
        message = "--requirements and --with are for a PATH: the recipe of an ensemble names its environment files"
        raise click.UsageError(message)
    image = click.get_current_context().params["image"] if paths and _is_given("image") else ""
    return Chosen(tuple(dict.fromkeys(names)), tuple(dict.fromkeys(paths)), replace(steps, image=image))


def log_of(port: int | None = None) -> Path:
    """The file for tritonserver's log: in build/ of the project, or else in the user's folder.

    Args:
        port: that people chose for the server, so that two servers with ports of their own have logs of their own.
    """
    places = options.places_if_any()
    name = "tritonserver.log" if port in (None, Ports.http) else f"tritonserver-{port}.log"
    return (places.build if places else user_folder() / "logs") / name


def path_of(argument: str) -> Path:
    """The path, or else the folder of the project's ensemble of that name. Raises :class:`UsageError`."""
    if Path(argument).exists():
        return Path(argument)
    places = options.places_if_any()
    known = _ensembles(places)
    if argument not in known:
        raise _neither(argument, known, places)
    return known[argument]


def checked_paths(arguments: Sequence[str]) -> list[Path]:
    """As :func:`path_of`; without arguments, ensembles/ of the project, or else the current folder."""
    project = None if arguments else options.places_if_any()
    return [project.ensembles] if project else [path_of(argument) for argument in arguments or (".",)]


def _ensembles(places: Places | None) -> dict[str, Path]:
    return {folder.name: folder for folder in find_ensembles(places.ensembles)} if places else {}


def _neither(argument: str, known: Mapping[str, Path], places: Places | None) -> UsageError:
    if "/" in argument or argument.endswith((".tar.gz", ".tgz")):
        return UsageError("there is no such file or folder", path=argument)
    if places is None:
        message = f"there is no path {argument!r}, and no project whose ensemble it could be"
        return UsageError(message, cure="name a model repository or an archive, or a project by --project DIR")
    there_are = f"there are {', '.join(known)}" if known else "the project has none"
    return UsageError(f"there is no ensemble {argument!r}, and no such path", path=places.ensembles, cure=there_are)


def _is_given(name: str) -> bool:
    context = click.get_current_context()
    return name in context.params and context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _refuse_options(path: Path, names: Iterable[str]) -> None:
    for name in names:
        if _is_given(name):
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option} is for what is built, and '{path}' is taken as it is: leave it out")
