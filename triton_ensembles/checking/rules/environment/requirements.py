"""The versions that the packages of an environment require of each other, as their METADATA says."""

from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from triton_ensembles.archive.tree import join
from triton_ensembles.checking.built_for import python_of
from triton_ensembles.checking.environments import Environment, place_in, used_environments
from triton_ensembles.checking.examples import with_environment
from triton_ensembles.checking.packages import used_packages
from triton_ensembles.checking.rule import Destination, Finding, Repository, warning

_KEY = "Requires-Dist:"


def _with_numpy(version: str) -> dict[str, str]:
    metadata = "Name: frame\nRequires-Dist: numpy>=1.26.0\nRequires-Dist: absent; extra == 'all'\n"
    return {"frame-3.0.dist-info/METADATA": metadata, f"numpy-{version}.dist-info/METADATA": "Name: numpy\n"}


@warning(
    "The packages of an environment have the versions that they require of each other",
    source="core metadata: Requires-Dist; a package that is missing may have been left out on purpose",
    bad=with_environment(site=_with_numpy("1.24.4")),
    good=with_environment(site=_with_numpy("1.26.4")),
)
def environment_requirement(repository: Repository, destination: Destination) -> Iterator[Finding]:
    for packed in (*used_environments(repository), *used_packages(repository)):
        python = next(iter(packed.pythons), python_of(repository, destination)[0])
        for path, requirement in _requirements(packed):
            installed = packed.versions.get(canonicalize_name(requirement.name))
            try:
                fits = not installed or requirement.specifier.contains(installed, prereleases=True)
                applies = not requirement.marker or requirement.marker.evaluate({"python_version": python, "extra": ""})
            except InvalidVersion:
                continue
            if not fits and applies:
                package = path.rpartition("/")[2].removesuffix(".dist-info")
                message = f"{package} requires {requirement.name}{requirement.specifier}, and this has {installed}"
                place, cure = join(path, "METADATA"), f"pack {requirement.name} in a version that both take"
                effect = "its import, or a call of it, may fail"
                yield Finding(place_in(repository, packed, place), message, effect, cure)


def _requirements(packed: Environment) -> Iterator[tuple[str, Requirement]]:
    """The folder of a package, and what it requires."""
    for _, folder in packed.distributions():
        entry = packed.tree.get(join(folder, "METADATA"))
        header = (entry.text or "").partition("\n\n")[0] if entry else ""
        for line in header.splitlines():
            if line.startswith(_KEY):
                try:
                    yield folder, Requirement(line.removeprefix(_KEY).strip())
                except InvalidRequirement:
                    continue
