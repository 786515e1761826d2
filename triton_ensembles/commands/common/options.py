"""The options that several commands share, and the project that they work on."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem
from typing_extensions import override

from triton_ensembles.building.places import Places, Weights
from triton_ensembles.commands.common import option_values
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.paths import user_folder
from triton_ensembles.project.location import ENSEMBLES, FALLBACK, chosen_project, find_project, no_project
from triton_ensembles.project.settings import KEYS, project_defaults
from triton_ensembles.server.home import Installation
from triton_ensembles.server.installed import image_of_server, server_at
from triton_ensembles.server.sagemaker_socket import has_sagemaker_socket
from triton_ensembles.server.secret import covers_sagemaker
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.releases import instance_types, releases
from triton_ensembles.triton.targets import NAMES, Target, target_of

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)
NEW_FOLDER = click.Path(file_okay=False, path_type=Path)


def current_places() -> Places:
    """Return where the command that runs now reads and writes. Raises :class:`EnsembleError` if there is no project."""
    places = places_if_any()
    if places is None:
        raise no_project(Path.cwd())
    return places


def places_if_any() -> Places | None:
    """The places of the project that --project names, or of the nearest one; None if there is none."""
    context = click.get_current_context()
    if chosen := context.find_object(Path):
        return Places.of(chosen_project(chosen))
    project = find_project(Path.cwd()) or context.meta.get(FALLBACK)
    return Places.of(project) if project else None


def places_anywhere() -> Places:
    """The places of the project; where there is none, those of repositories without a recipe: dist/ here, and the
    user's folder."""
    return places_if_any() or Places(Path(ENSEMBLES), user_folder() / "build", Path("dist"))


def profiles_folder() -> Path:
    """Return where ``profile`` keeps what it has measured: in build/ of the project, or else in the user's folder."""
    places = places_if_any()
    return (places.build if places else user_folder()) / "profiles"


def reports_folder(kind: str, target: Target) -> Path:
    """Return where a command reports on a target: in reports/KIND of the project, or of the current folder."""
    places = places_if_any()
    return (places.reports if places else Path("reports")) / kind / (target.name if target.fuses else "")


class _Checked(click.ParamType[Any]):
    """A word as ``read`` takes it, which may refuse it with an :class:`EnsembleError`; "": the option is not given.

    ``known``: the words that a Tab offers.
    """

    def __init__(self, name: str, read: Callable[[str], Any], known: Callable[[], Iterable[str]] = tuple) -> None:
        self.name = name
        self._read = read
        self._known = known

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._read(value) if value and isinstance(value, str) else value
        except EnsembleError as error:
            self.fail(str(error), param, ctx)

    @override
    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in self._known() if word.startswith(incomplete)]


IMAGE = _Checked("image", KEYS["image"], lambda: (*reversed(releases()), "newest", "sagemaker"))
INSTANCE = _Checked("instance", KEYS["instance"], instance_types)


class Setting(click.Option):
    """An option whose default a project may name: see :mod:`triton_ensembles.project.settings`."""

    @override
    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        value, source = super().consume_value(ctx, opts)
        if source is not ParameterSource.DEFAULT or ctx.resilient_parsing:
            return value, source
        arguments = [ctx.params.get(name) or () for name in ("names", "paths", "archives")]
        start = next((Path(text) for texts in arguments for text in texts if Path(text).exists()), None)
        try:
            defaults = project_defaults(start or ctx.find_object(Path) or Path.cwd())
        except EnsembleError as error:
            raise click.UsageError(str(error), ctx) from error
        default = defaults.get(self.name or "")
        if default is None:
            return value, source
        return ((default,) if self.multiple else default), ParameterSource.DEFAULT_MAP


def is_of_project(name: str) -> bool:
    """Return whether the value of a :class:`Setting` is the project's default, and no option of the command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.DEFAULT_MAP


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_KINDS: dict[str, dict[str, Any]] = {
    "target": {"type": click.Choice(NAMES)},
    "image": {"type": IMAGE, "metavar": "RELEASE"},
    "instance": {"type": INSTANCE, "metavar": "TYPE"},
}


def setting(key: str, help: str, otherwise: str = "", **more: Any) -> Decorator:
    """The option of a key of the project's table; ``otherwise``: its default in words where the project has none."""
    default = f"[default: [tool.triton-ensembles] {key} in pyproject.toml{otherwise}]"
    known = {**_KINDS[key], "show_default": False, **more}
    return click.option(f"--{key}", cls=Setting, help=f"{help}  {default}", **known)


def collected(kind: type[Any], name: str, *options: Decorator) -> Decorator:
    """Adds options, whose values the command takes together: an argument ``name``, a ``kind`` with a field for each."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def collecting(*context: click.Context, **values: Any) -> Any:
            own = {field.name: values.pop(field.name) for field in fields(kind) if field.name in values}
            return command(*context, **values, **{name: kind(**own)})

        decorated: Callable[..., Any] = collecting
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return add


def option(name: str, *more: str, **attributes: Any) -> Any:
    """Return the field of a group that has the value of this option: of :func:`click.option`, or with ``read`` of
    :func:`option_values.option`."""
    make = option_values.option if "read" in attributes else click.option
    return dataclasses.field(metadata={"option": lambda field: make(name, *more, field, **attributes)})


def field(decorator: Decorator) -> Any:
    """Return the field of a group that has the value of an option, or an argument, of the same name."""
    return dataclasses.field(metadata={"option": lambda _name: decorator})


def group(name: str, kind: type[Any]) -> Decorator:
    """Adds the options of a dataclass whose fields are :func:`option` or :func:`field`, as an argument ``name``."""
    return collected(kind, name, *(part.metadata["option"](part.name) for part in fields(kind)))


server = click.option(
    "--server",
    metavar="FOLDER",
    type=_Checked("server", lambda folder: server_at(Path(folder))),
    help="The Triton to start, such as /opt/tritonserver in NVIDIA's image: the folder with bin/tritonserver and "
    "backends/. What it is told to serve is then checked and built for its release.  [default: that of setup]",
)


def warn_of_open_ports(server: Installation | None) -> None:
    """Warn of a Triton that loads models as SageMaker has it load them."""
    if server and not has_sagemaker_socket(server.tritonserver) and not covers_sagemaker(server.version):
        where = "on all interfaces, as in every container, and run any model for whoever reaches them"
        cure = "use no browser meanwhile, and keep other machines away; 26.03 and later demand a secret"
        click.echo(f"WARNING: the SageMaker ports of this tritonserver listen {where}: {cure}", err=True)


# Of commands that build.
names = click.argument("names", nargs=-1, metavar="[ENSEMBLE]...")
_weights = click.option(
    "--weights",
    type=click.Choice(["auto", "pretrained"]),
    default="auto",
    help="auto: use seeded random weights, with a warning, if the real ones cannot be downloaded. "
    "pretrained: fail instead.",
)
_weights_dir = click.option("--weights-dir", type=FOLDER, help="Source files that you have, as SOURCE/FILE or FILE.")
target = setting(
    "target",
    "cpu: as drawn, for the server on this machine. gpu: as drawn, for NVIDIA's image. fused: one model that brings "
    "its engines, for either.",
    ", or else cpu",
    default="cpu",
)
image = setting(
    "image",
    "The Triton release of NVIDIA's image that the archive is for, such as 24.09, newest, or sagemaker for the newest "
    "that SageMaker has. gpu needs it; cpu and fused take the Python of their steps from it, and without it that of "
    "the server on this machine.",
    default="",
)
instance = setting("instance", "gpu, fused: the SageMaker instance type, such as ml.g5.xlarge.", default="")


@dataclass(frozen=True)
class BuildTarget:
    """The values of --target, --image and --instance."""

    target: str = field(target)
    image: str = field(image)
    instance: str = field(instance)

    def built(self) -> Target:
        """The target that they name; of the project's defaults, what the target has no use for does not count."""
        image, instance = self.image, self.instance
        if self.target == "cpu" and is_of_project("image") and not Destination(image=image).image_names_release:
            image = ""
        if is_of_project("instance") and (self.target == "cpu" or not image):
            instance = ""
        return target_of(self.target, image, instance)

    def served_here(self, server: Installation | None = None) -> Target:
        """As :meth:`built`, for this machine: cpu where the project's default is gpu. Raises :class:`click.UsageError`
        for an option --target gpu, which this machine cannot serve."""
        if self.target == "gpu" and is_of_project("target"):
            click.echo("note: the project's default target, gpu, is not served here: taking cpu", err=True)
            return replace(self, target="cpu").built()
        if self.target == "gpu":
            message = "--target gpu is served by NVIDIA's image, not by the server on this machine: use cpu or fused"
            raise click.UsageError(message)
        own = image_of_server(server) if not self.image or is_of_project("image") else ""
        target = replace(self, image=own).built() if own else self.built()
        if server and target.python:
            server.stub(target.python)
        return target


with_weights = collected(Weights, "weights", _weights, _weights_dir)
for_target = group("chosen_target", BuildTarget)

single = click.option("--single", is_flag=True, help="For a single-model endpoint: one archive, and no TargetModel.")
evict_ahead = click.option(
    "--evict-ahead",
    is_flag=True,
    help="After a load, unload idle models until the next one has room, so that no request waits for that. Cold starts "
    "are then quicker than AWS may have them.",
)


def port(name: str, number: int, help: str, field: str) -> Decorator:
    """A TCP port on the loopback interface, for ``collected(Ports, ...)``: ``field`` is its name there."""
    return click.option(f"--{name}", field, type=click.IntRange(1, 65535), default=number, help=help)
