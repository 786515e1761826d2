"""A repository whose files can be compared by their digests, wherever it lies."""

import hashlib
import re
from dataclasses import dataclass, field
from functools import cached_property

from packaging.utils import canonicalize_name

from triton_ensembles.archive.tar import safe_path
from triton_ensembles.archive.tar_stream import TarStream
from triton_ensembles.archive.tree import Entry, Kind, join
from triton_ensembles.checking.built_for import manifest, measured, table
from triton_ensembles.checking.environments import used_environments
from triton_ensembles.checking.fused_plan import is_fused
from triton_ensembles.checking.repository import Form, Model, Repository
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.files import file_digest
from triton_ensembles.recipe_rules.recipe_of import environment_files
from triton_ensembles.triton.dockerfile import dockerfile_of

_DISTRIBUTION = re.compile(r"([\w.]+)-([^-/]+)\.dist-info$")
_REQUIREMENT = re.compile(r"([\w.-]+)\s*(.*)")
_FACTS = ("target", "image", "instance", "python", "weights")
_BUFFER = 1 << 20


@dataclass(frozen=True)
class Content:
    """A repository, under the ``name`` that people know it by."""

    name: str
    repository: Repository = field(repr=False)

    @cached_property
    def prefix(self) -> str:
        """Return what the build, or a clone, put before the names of the steps: ``bert.`` of ``bert.tokenize``."""
        names = [model.folder for model in self.models]
        if self.repository.form is Form.SOURCE:
            return ""
        tops = [name for name in names if sum(step.startswith(f"{name}.") for step in names) == len(names) - 1]
        return f"{tops[0]}." if len(tops) == 1 and len(names) > 1 else ""

    def key(self, name: str) -> str:
        """The name of a model without what a build put before it; "" for the one that all others are named after."""
        is_top = f"{name}." == self.prefix or (len(self.models) == 1 and self.fuses)
        return "" if is_top or name == self._source_top else name.removeprefix(self.prefix)

    @cached_property
    def _source_top(self) -> str | None:
        """The folder in ensembles/NAME that the build calls NAME."""
        ensembles = self.repository.ensembles if self.repository.form is Form.SOURCE else []
        return ensembles[0].folder if len(ensembles) == 1 else None

    def shown(self, model: Model) -> str:
        """The name that clients call it by."""
        return self.name if model.folder == self._source_top else model.name

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The models; in ensembles/, other folders, such as that of locks, have no config."""
        models = self.repository.models
        return tuple(model for model in models if model.has_config or self.repository.form is not Form.SOURCE)

    @property
    def fuses(self) -> bool:
        return any(map(is_fused, self.models))

    @cached_property
    def tops(self) -> frozenset[str]:
        """The models that clients call: all but the steps of ensembles."""
        steps = {step.model_name for model in self.models for step in model.file.config.ensemble_scheduling.step}
        return frozenset(model.folder for model in self.models) - steps

    def versions(self, model: Model) -> list[int]:
        """The versions that are served; unknown ones are left out. Git keeps no empty folder of an ensemble."""
        try:
            return sorted(model.served_versions) or [1] * model.is_ensemble
        except UnknownValueError:
            return []

    def files(self, model: Model | None = None) -> dict[str, Entry]:
        """The files of a model by their paths in its folder, or those beside all models, without those of packages."""
        tree, roots = self.repository.tree, {other.root for other in self.models}
        below = tree.below(model.root) if model else map(tree.entries.__getitem__, tree.children())
        files = {}
        for entry in below:
            top = entry.path.partition("/")[0]
            is_beside = model is None and top not in roots
            is_kept = not entry.is_folder and "__pycache__/" not in entry.path
            if is_kept and (model or is_beside) and not self._is_of_package(entry.path):
                files[entry.path.removeprefix(f"{model.root}/") if model and model.root else entry.path] = entry
        return files

    def digest(self, entry: Entry) -> str:
        """The sha256 of a file; of a link in an archive its target."""
        if entry.data is not None:
            return hashlib.sha256(entry.data).hexdigest()
        if self.repository.is_archive:
            return f"-> {entry.target}" if entry.target else self._digests[entry.path]
        if entry.kind is Kind.SYMLINK and not entry.size:
            return f"-> {entry.target}"
        return file_digest(self.repository.path / entry.path)

    @cached_property
    def _digests(self) -> dict[str, str]:
        """Return the digests of all files of an archive, from one pass: of a path that it has twice, what unpacking
        leaves."""
        digests = {}
        with self.repository.path.open("rb") as file:
            stream = TarStream.gzipped(file)
            for member in stream:
                digest = hashlib.sha256()
                while data := stream.read(_BUFFER):
                    digest.update(data)
                digests[safe_path(member.name)] = digest.hexdigest()
        return digests

    @cached_property
    def facts(self) -> dict[str, str]:
        """The server that it is for, as its manifest says, or a Dockerfile beside it."""
        written = manifest(self.repository)
        facts = {key: str(written[key]) for key in _FACTS if written.get(key)}
        if not written and self.repository.form is Form.FOLDER and (file := dockerfile_of(self.repository.path)):
            facts["image"] = file.image
        return facts

    @property
    def size(self) -> int:
        """The bytes of all its files."""
        return sum(entry.size for entry in self.repository.tree.entries.values())

    @cached_property
    def artifacts(self) -> dict[str, tuple[str, str]]:
        """The digest of each artifact and what the build has measured of it, by its path in the recipe."""
        found = table(manifest(self.repository), "artifacts")
        records = {path: record for path, record in found.items() if isinstance(record, dict)}
        return {path: (str(record.get("sha256")), measured(record)) for path, record in records.items()}

    @cached_property
    def packages(self) -> dict[str, str]:
        """The Python packages that come with it or that its recipe names, and their versions."""
        packages: dict[str, str] = {}
        for record in table(manifest(self.repository), "environments").values():
            packages |= table(record, "packages") if isinstance(record, dict) else {}
        for environment in () if packages else used_environments(self.repository):
            packages |= environment.versions
        for path in () if packages else self._distributions:
            name, version = _DISTRIBUTION.search(path).groups()  # type: ignore[union-attr]
            packages[name] = version
        for _, spec, _ in environment_files(self.repository):
            packages |= {package.name: str(package.version or "") for package in spec.packages}
            packages |= {match[1]: match[2] for text in spec.pip_packages if (match := _REQUIREMENT.match(text))}
        return {canonicalize_name(name): str(version) for name, version in packages.items()}

    @cached_property
    def _distributions(self) -> list[str]:
        return [path for path in self.repository.tree.entries if _DISTRIBUTION.search(path)]

    @cached_property
    def package_digests(self) -> dict[str, str]:
        """The digest of each package and each environment that comes with it, over all their files."""
        digests = {}
        for owned in self._owned:
            name = (self.key(owned.partition("/")[0]) + owned[owned.find("/") :]).removeprefix("/")
            whole = hashlib.sha256()
            for entry in (self.repository.tree.entries[owned], *self.repository.tree.below(owned)):
                if not entry.is_folder and "__pycache__/" not in entry.path:
                    whole.update(f"{entry.path[len(owned) :]}\0{self.digest(entry)}\0".encode())
            digests[name] = f"sha256 {whole.hexdigest()[:12]}"
        return digests

    def _is_of_package(self, path: str) -> bool:
        ends = [at for at, sign in enumerate(path) if sign == "/"]
        return any(path[:end] in self._owned for end in [*ends, len(path)])

    @cached_property
    def _owned(self) -> frozenset[str]:
        """The folders and files of packages, of environments and of what runs a fused ensemble."""
        owned = {environment.path for environment in used_environments(self.repository)}
        for path in self._distributions:
            folder = path.rpartition("/")[0]
            record = self.repository.tree.get(join(path, "RECORD"))
            names = self.repository.tree.get(join(path, "top_level.txt"))  # fused archives have no RECORD
            texts = [(entry.text if entry else None) or "" for entry in (record, names)]
            tops = {line.partition(",")[0].partition("/")[0] for text in texts for line in text.splitlines()}
            name = _DISTRIBUTION.search(path)[1]  # type: ignore[index]
            owned |= {path, *(join(folder, top) for top in {*tops, name, f"{name}.libs"} - {"", "..", "__pycache__"})}
        for model in self.models:
            folders = [join(model.root, folder) for folder in model.versions.values()] if is_fused(model) else []
            owned |= {join(folder, name) for folder in folders for name in ("triton_ensembles", "model.py")}
        return frozenset(owned & self.repository.tree.entries.keys())


def matched(old: Content, new: Content) -> list[tuple[Model | None, Model | None]]:
    """The models of both, in pairs: by :meth:`Content.key`; a single one with that of its name, or a single one."""
    before, after = ({content.key(model.folder): model for model in content.models} for content in (old, new))
    for alone, others in ((before, after), (after, before)):
        if len(alone) == 1 and not alone.keys() & others.keys():
            model = alone.popitem()[1]
            same = [key for key, other in others.items() if other.folder == model.folder or len(others) == 1]
            top = [key for key in others if not key]  # what a fused archive has made of all of them
            alone[(same or top or [model.folder])[0]] = model
    return [(before.get(key), after.get(key)) for key in sorted(before.keys() | after.keys())]
