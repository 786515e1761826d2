"""Environment files that can be read, and that the build refuses before it installs anything."""

from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from triton_ensembles.checking.packages import WRONG_NUMPY
from triton_ensembles.checking.rule import Destination, Finding, Place, Repository, Server, Severity, rule, warning
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import read_text
from triton_ensembles.project.recipe.environment_file import EnvironmentSpec
from triton_ensembles.project.recipe.places import LOCKS, LONGEST_LOCK
from triton_ensembles.recipe_rules.recipe_of import environment_files, packed_files
from triton_ensembles.triton.releases import release_of

SERVER = Server.ACCEPTS
_OF_NUMPY = "python_backend #384: pybind11 2.12 since 24.11; the build takes the newest version that fits"
_TWO = Version("2")
_OF_EACH_MINOR = (*(f"1.{minor}.99" for minor in range(17, 27)), "1.26.4", "2.0.0", "2.2.6", "2.4.6", "99")
_ASKED = "#   "  # of a lock: what was asked for
# Of conda's channels only: PyPI has them under other names, or not at all.
_OF_CONDA = {
    **dict.fromkeys(("cudatoolkit", "pytorch-cuda", "cudnn", "libstdcxx-ng", "libgcc-ng", "libgomp"), ""),
    **dict.fromkeys(("pytorch", "pytorch-cpu", "pytorch-gpu"), "torch"),
    **dict.fromkeys(("opencv", "py-opencv"), "opencv-python-headless"),
    "faiss": "faiss-cpu",
}


def _requirements(spec: EnvironmentSpec) -> Iterator[tuple[str, SpecifierSet, str, int]]:
    """Name, versions, text and line of each package; without the versions that only conda reads."""
    for package in spec.packages:
        name, _, versions = package.pip_requirement.partition(package.name)
        try:
            specifiers = SpecifierSet("" if name else versions)
        except InvalidSpecifier:
            specifiers = SpecifierSet()
        yield canonicalize_name(package.name), specifiers, package.written, package.line
    for text in spec.pip_packages:
        try:
            required = Requirement(text)
        except InvalidRequirement:
            continue
        if required.marker is None:
            yield canonicalize_name(required.name), required.specifier, text, spec.line_of(required.name) or 0


def _locked(repository: Repository, spec: EnvironmentSpec) -> dict[str, str] | None:
    """The versions by package of the ensemble's lock; None when there is none for these packages."""
    for path in sorted(repository.path.glob(f"{LOCKS}/{spec.path.stem}-python3.*.lock")):
        try:
            lines = read_text(path, LONGEST_LOCK).splitlines()
        except EnsembleError:  # recipe-lock reports it
            raise UnknownValueError from None
        requested = [line.removeprefix(_ASKED) for line in lines if line.startswith(_ASKED)]
        if requested == [*spec.conda_specs, *spec.pip_packages]:
            pins = (line.split()[0].partition("==") for line in lines if line and not line.startswith("#"))
            return {canonicalize_name(name): version for name, _, version in pins}
    return None


@rule("The environment file keeps numpy below 2 for a server up to 24.10", source=_OF_NUMPY, lower=Severity.WARNING)
def environment_file_numpy(repository: Repository, destination: Destination) -> Iterator[Finding]:
    """A version that is open is a warning, unless a lock says it: the build takes the newest that fits."""
    release = release_of(destination)
    if release is None or release.reads_numpy2 is not False:
        return
    supports = f"Triton {release.release} supports only numpy 1"
    for path, spec, _ in packed_files(repository):
        of_numpy = [requirement for requirement in _requirements(spec) if requirement[0] == "numpy"]
        versions = SpecifierSet(",".join(str(requirement[1]) for requirement in of_numpy))
        named = (clause.version.removesuffix(".*") for clause in versions if clause.operator != "===")
        fitting = [Version(text) for text in (*_OF_EACH_MINOR, *named) if versions.contains(text, prereleases=True)]
        if not (of_numpy and fitting) or max(fitting) < _TWO:
            continue
        _, _, text, line = of_numpy[0]
        if min(fitting) >= _TWO:
            cure = "write numpy==1.26.4, or use an image of 24.11 or later"
            yield Finding(Place(path, line), f"this requires {text}, and {supports}", WRONG_NUMPY, cure)
        elif _locked(repository, spec) is None:
            effect = f"{supports}, and the build refuses numpy 2: {WRONG_NUMPY}"
            message = f"{text} may become numpy 2"
            yield Finding(Place(path, line), message, effect, "write numpy==1.26.4", Severity.WARNING)


@warning("The packages of an environment file have the same names on PyPI", source="the build also installs from PyPI")
def environment_file_of_conda(repository: Repository) -> Iterator[Finding]:
    for path, spec, _ in environment_files(repository):
        for package in spec.packages:
            if package.name in _OF_CONDA:
                pypi_name = _OF_CONDA[package.name]
                has_it = "has it under another name" if pypi_name else "does not"
                message = f"conda has a package '{package.name}', and PyPI {has_it}"
                effect = "the build refuses it wherever no conda channel is reachable"
                cure = f"write {pypi_name}" if pypi_name else "remove it: the packages of PyPI bring what they need"
                yield Finding(Place(path, package.line), message, effect, cure)
