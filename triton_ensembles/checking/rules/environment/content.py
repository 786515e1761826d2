"""The contents of a packed environment, and wheels beside model.py, compared with the server that will run them."""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate
from pathlib import PurePosixPath

from triton_ensembles.archive.tree import Entry, Kind, join
from triton_ensembles.checking.built_for import image_built_for, python_of
from triton_ensembles.checking.environments import Environment, has_stub, place_in, reference, used_environments
from triton_ensembles.checking.examples import IDENTITY, python_model, with_environment
from triton_ensembles.checking.fault import Severity
from triton_ensembles.checking.packages import WRONG_NUMPY, Packages, glibc_of, packages_of, used_packages
from triton_ensembles.checking.rule import Destination, Example, Finding, Model, Repository, Server, rule, warning
from triton_ensembles.triton.model_config import CONFIG
from triton_ensembles.triton.pip_server import glibc_version
from triton_ensembles.triton.releases import dotted, image_of, instance_of, release_of, releases, version

GOOD = with_environment("3.10")
SERVER = Server.UNTESTED


def _with_wheel(tag: str) -> Example:
    files = {"1/model.py": IDENTITY, "1/mine/__init__.py": "", "1/mine-1.0.dist-info/WHEEL": f"Tag: {tag}\n"}
    return Example(python_model(), files)


def _without_stub(repository: Repository, packed: Environment) -> list[str]:
    return repository.once("users of environments without a stub", lambda: _users(repository)).get(packed.path, [])


def _users(repository: Repository) -> dict[str, list[str]]:
    users: dict[str, list[str]] = defaultdict(list)
    for model in repository.models:
        if (named := reference(model)) and not has_stub(model):
            users[named.path].append(model.folder)
    return users


@rule(
    "A packed environment has the Python of the image's stub",
    source="python_backend README r24.10, Important Notes 1; releases.csv",
    bad=with_environment("3.8"),
    lower=Severity.NOTE,
    destination=Destination(image="24.09"),
)
def environment_python(repository: Repository, destination: Destination) -> Iterator[Finding]:
    """Yield a note where no image is named, and none has such a stub."""
    image = image_of(destination)
    known = {release.python for release in releases().values() if release.python}
    for packed in used_environments(repository):
        models, has = _without_stub(repository, packed), f"Python {' and '.join(packed.pythons)}"
        if not models or not packed.pythons:
            continue
        place, message = place_in(repository, packed), f"the environment has {has}"
        if image and image.python and image.python not in packed.pythons:
            message += f", and the stub of Triton {image.release} is for Python {image.python}"
            effect = f"{_and(models)} cannot start: a stub is for one minor version of Python"
            cure = f"pack python={image.python}, or put a stub for {has}, built from {image.release}, beside {CONFIG}"
            yield Finding(place, message, f"{effect} (Stub process is not healthy)", cure)
        elif not destination.image and not known & set(packed.pythons):
            message += f"; the stubs in Triton's images are for {', '.join(sorted(known, key=version))}"
            effect = f"it runs locally, where every Python has a stub; in an image {_and(models)} would not start"
            cure = "for SageMaker, pack the Python of its image (--image), or put a stub into the model's folder"
            yield Finding(place, message, effect, cure, Severity.NOTE)


@rule(
    "Wheels beside model.py are for the Python of the server",
    source="the tags in WHEEL files (PEP 425); python_backend r24.10 pb_stub.cc: sys.path",
    bad=_with_wheel("cp311-cp311-manylinux_2_17_x86_64"),
    good=_with_wheel("cp39-abi3-manylinux_2_17_x86_64"),
    destination=Destination(image="24.09"),
)
def environment_wheels_python(model: Model, destination: Destination) -> Iterator[Finding]:
    python, whose = python_of(model.repository, destination)
    for packages in packages_of(model) if python and not has_stub(model) else ():
        if wrong := packages.unsuited(python):
            path, purpose = wrong[0]
            more = f" (and {len(wrong) - 1} more such files)" if len(wrong) > 1 else ""
            message = f"this is for {purpose}, and the Python of {whose} is {python}{more}"
            effect = "its import fails, and Triton does not load the model: ModuleNotFoundError or ImportError"
            cure = f"build it for this image (--image), or: pip install --only-binary=:all: --python-version {python}"
            yield Finding(place_in(model.repository, packages, path), message, effect, cure)


@rule(
    "numpy is below 2 for a server up to 24.10",
    source="python_backend #384: pybind11 2.12 since 24.11; measured on 2.51.0",
    bad=with_environment("3.12", site={"numpy-2.1.0.dist-info/METADATA": "Name: numpy\n"}),
    good=with_environment("3.12", site={"numpy-1.26.4.dist-info/METADATA": "Name: numpy\n"}),
)
def environment_numpy(repository: Repository, destination: Destination) -> Iterator[Finding]:
    release = release_of(destination)
    for packed in (*used_environments(repository), *used_packages(repository)):
        numpy = packed.versions.get("numpy", "")
        if release and release.reads_numpy2 is False and version(numpy) >= (2,):
            message = f"this has numpy {numpy}, and Triton {release.release} supports only numpy 1"
            newer = "" if packed.pythons in ((), ("3.12",)) else ", whose Python is 3.12"
            cure = f"pack numpy 1.26.4, or use an image of 24.11 or later{newer}"
            yield Finding(place_in(repository, packed), message, WRONG_NUMPY, cure)


@rule(
    "A packed environment has Python's standard library and numpy",
    source="python_backend r24.10 triton_python_backend_utils.py imports it; the stub becomes the Python whose bin is "
    "first on PATH; measured on 2.51.0",
    bad=with_environment("3.12", site={"mine/__init__.py": ""}, numpy=False),
    good=with_environment("3.12"),
    lower=Severity.WARNING,
)
def environment_without_numpy(repository: Repository) -> Iterator[Finding]:
    """Yield a warning where the library is missing: that of the image may be of the same version."""
    for packed in used_environments(repository):
        lacks, severity = "numpy", None
        effect = "the steps do not start: triton_python_backend_utils imports it: No module named 'numpy'"
        cure = "add numpy 1.26.4 to it and pack it again"
        if not packed.has_library:
            lacks, severity = "standard library (lib/python3.x/os.py)", Severity.WARNING
            effect = "the stub falls back on the image's Python, if its minor version is the same, or does not start"
            cure = "pack a conda environment with python in it, with conda-pack"
        is_whole = packed.has_library and (not packed.site_packages or "numpy" in packed.modules)
        if not (is_whole or packed.tree.problems) and (packed.has_library or packed.tree.get("bin/activate")):
            yield Finding(place_in(repository, packed), f"the environment has no {lacks}", effect, cure, severity)


@rule(
    "Nothing in a packed environment is installed in editable mode",
    source="PEP 660: setuptools writes __editable__ files",
    bad=with_environment(site={"__editable__.mine-1.0.pth": "/home/me/mine\n"}),
    good=with_environment(site={"mine/__init__.py": ""}),
)
def environment_editable(repository: Repository) -> Iterator[Finding]:
    for packed in used_environments(repository):
        for path, problem in _editable(packed):
            message = f"{problem}, which is not in the packed environment"
            effect = "its import fails in the step: ModuleNotFoundError (or: Stub process is not healthy)"
            cure = "install the package itself into the environment (pip install ., without -e) and pack it again"
            yield Finding(place_in(repository, packed, path), message, effect, cure)


def _editable(packed: Environment) -> Iterator[tuple[str, str]]:
    for folder in packed.site_packages:
        for entry in packed.texts(folder):
            name = entry.path.rpartition("/")[2]
            lines = (entry.text or "").splitlines()[:1000] if name.endswith(".pth") else []
            added = next((line.strip() for line in lines if line.strip().startswith("/")), None)
            if name.startswith("__editable__"):
                yield entry.path, "this is a package in editable mode: a pointer to a folder of the build machine"
            elif added:
                yield entry.path, f"this adds the folder '{added[:120]}' of the build machine"


@rule(
    "No link in a packed environment points outside it",
    source="python_backend r24.10 pb_env.cc extracts links as they are; since 26.06 (#437) it refuses such links",
)
def environment_links(repository: Repository) -> Iterator[Finding]:
    for packed in used_environments(repository):
        links = [entry for entry in packed.tree.members if entry.kind is Kind.SYMLINK and _leads_out(entry)]
        python = [entry for entry in links if re.fullmatch(r"bin/python[\d.]*", entry.path)]
        if not links:
            continue
        link = (python or links)[0]
        more = f" (and {len(links) - 1} more such links)" if len(links) > 1 else ""
        message = f"'{link.path}' is a link to '{link.target[:120]}', which is not in the environment{more}"
        effect = "on the instance it is broken or points to another file; Triton 26.06 and later refuse it"
        cure = "pack what the link points to"
        if python and packed.tree.get("pyvenv.cfg"):
            effect = "it is a virtual environment, which has no Python of its own: the stub finds no standard library"
            cure = "pack a conda environment with conda-pack: it includes Python itself"
        yield Finding(place_in(repository, packed, link.path), message, effect, cure)


def _leads_out(link: Entry) -> bool:
    if link.target.startswith("/"):
        return True
    steps = (-1 if part == ".." else 1 for part in PurePosixPath(link.target).parts)
    return min(accumulate(steps, initial=len(PurePosixPath(link.path).parts) - 1)) < 0


@rule(
    "A packed environment is built for Linux and for the processor of the instance",
    source="the tags in WHEEL files (PEP 427, PEP 600) and the subdir of conda-meta; instances.csv",
    bad=with_environment(site={"mine-1.0.dist-info/WHEEL": "Tag: cp310-cp310-macosx_11_0_arm64\n"}),
    good=with_environment(site={"mine-1.0.dist-info/WHEEL": "Tag: cp310-cp310-manylinux_2_17_x86_64\n"}),
)
def environment_platform(repository: Repository, destination: Destination) -> Iterator[Finding]:
    instance = instance_of(destination.instance)
    machine = instance.architecture if instance else "x86_64"
    for packed in (*used_environments(repository), *used_packages(repository)):
        tags: dict[str, list[str]] = defaultdict(list)  # one of a wheel for several platforms is enough
        for path, tag in tags_of(packed):
            tags[path].append(tag)
        foreign = [(path, of[0]) for path, of in tags.items() if all(_is_foreign(tag, machine) for tag in of)]
        if foreign:
            path, tag = foreign[0]
            more = f" (and {len(foreign) - 1} more such packages)" if len(foreign) > 1 else ""
            message = f"this package was built for {tag.rpartition('-')[2]}" + more
            effect = f"its libraries cannot be loaded on Linux with {machine}: ImportError or Exec format error"
            cure = f"pack the environment on Linux with {machine} (for example in a container)"
            yield Finding(place_in(repository, packed, path), message, effect, cure)


@rule(
    "The packages of an environment, and wheels beside model.py, run with the glibc of the server",
    source="PEP 600 tags in WHEEL files; the glibc of the image's Ubuntu (releases.csv)",
    bad=_with_wheel("cp39-abi3-manylinux_2_39_x86_64"),
    good=_with_wheel("cp39-abi3-manylinux_2_17_x86_64"),
    lower=Severity.WARNING,
    destination=Destination(image="24.09"),
)
def environment_glibc(repository: Repository, destination: Destination) -> Iterator[Finding]:
    """Yield an error for the wheels, which the server's own Python imports, and a warning for an environment."""
    image = image_of(destination) or image_built_for(repository)
    has, where = () if destination.image or destination.undecided else glibc_version(), "this machine"
    if image:
        has, where = image.glibc or (), f"the image of Triton {image.release} (Ubuntu {image.ubuntu})"
    for packed in (*used_environments(repository), *used_packages(repository)) if has else ():
        oldest: dict[str, tuple[int, int]] = {}
        for path, tag in tags_of(packed):  # a wheel may have several tags: the least demanding one counts
            if needed := glibc_of(tag):
                oldest[path] = min(needed, oldest.get(path, needed))
        for path, needed in oldest.items():
            if needed > has:
                message = f"this package needs glibc {dotted(needed)}, and {where} has {dotted(has)}"
                effect = f"its import fails: version `GLIBC_{dotted(needed)}' not found"
                cure = "use an older version of the package, or build it for this image (--image), or take a newer one"
                severity = None if isinstance(packed, Packages) else Severity.WARNING
                yield Finding(place_in(repository, packed, path), message, effect, cure, severity)


@warning(
    "A packed environment has no older libstdc++ than the image", source="python_backend README r24.10; server #5933"
)
def environment_libstdcxx(repository: Repository, destination: Destination) -> Iterator[Finding]:
    image = image_of(destination)
    if image is None or image.libstdcxx is None:
        return
    for packed in used_environments(repository):
        libraries = [
            (int(match[1]), name)
            for name in packed.tree.children("lib")
            if (match := re.fullmatch(r"libstdc\+\+\.so\.6\.0\.(\d{1,4})", name))
        ]
        if libraries and max(libraries)[0] < image.libstdcxx:
            older = f"this is older than the libstdc++.so.6.0.{image.libstdcxx} that the image's stub was linked to"
            effect = f"the stub may not start, as it finds this one first: GLIBCXX_3.4.{image.libstdcxx} not found"
            place = place_in(repository, packed, f"lib/{max(libraries)[1]}")
            yield Finding(place, older, effect, "conda install -c conda-forge libstdcxx-ng>=12, and pack again")


def _and(names: list[str]) -> str:
    return " and ".join(f"'{name}'" for name in names[:5]) + (" and others" if len(names) > 5 else "")


def tags_of(packed: Environment) -> Iterator[tuple[str, str]]:
    """(path of the WHEEL file or of conda's record, platform tag)."""
    for _, folder in packed.distributions():
        entry = packed.tree.get(join(folder, "WHEEL"))
        for line in (entry.text or "").splitlines()[:200] if entry and entry.data else ():
            if line.startswith("Tag:"):
                yield join(folder, "WHEEL"), line[4:].strip()
    for entry in packed.texts("conda-meta"):
        if match := re.search(r'"subdir"\s*:\s*"([\w-]+)"', entry.text or ""):
            yield entry.path, f"conda-{match[1].replace('linux-64', 'linux_x86_64').replace('-', '_')}"


def _is_foreign(tag: str, machine: str) -> bool:
    other = "aarch64" if machine == "x86_64" else "x86_64"
    return re.search(rf"-(?:macosx|osx|win|musllinux)\w*$|_{other}$", tag) is not None
