"""Wheels beside model.py, compared with the Python and the glibc of the server that imports them."""

from collections.abc import Iterator

from triton_ensembles.checking.built_for import image_built_for, python_of
from triton_ensembles.checking.environments import has_stub, place_in
from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.packages import glibc_of, packages_of
from triton_ensembles.checking.rule import Destination, Example, Finding, Model, Server, rule
from triton_ensembles.triton.pip_server import glibc_version
from triton_ensembles.triton.releases import dotted, image_of

SOURCE = "the tags in WHEEL files (PEP 425, PEP 600); python_backend r24.10 pb_stub.cc: sys.path"
SERVER = Server.UNTESTED


def _with_wheel(tag: str) -> Example:
    files = {"1/model.py": IDENTITY, "1/mine/__init__.py": "", "1/mine-1.0.dist-info/WHEEL": f"Tag: {tag}\n"}
    return Example(python_model(), files)


GOOD = _with_wheel("cp39-abi3-manylinux_2_17_x86_64")
DESTINATION = Destination(image="24.09")


@rule("Wheels beside model.py are for the Python of the server", bad=_with_wheel("cp311-cp311-manylinux_2_17_x86_64"))
def environment_wheels_python(model: Model, destination: Destination) -> Iterator[Finding]:
    if has_stub(model):
        return
    python, whose = python_of(model.repository, destination)
    for packages in packages_of(model):
        wrong = packages.unsuited(python)
        if wrong:
            path, purpose = wrong[0]
            more = f" (and {len(wrong) - 1} more such files)" if len(wrong) > 1 else ""
            message = f"this is for {purpose}, and the Python of {whose} is {python}{more}"
            effect = "its import fails, and Triton does not load the model: ModuleNotFoundError or ImportError"
            cure = f"build it for this image (--image), or: pip install --only-binary=:all: --python-version {python}"
            yield Finding(place_in(model.repository, packages, path), message, effect, cure)


@rule("Wheels beside model.py run with the glibc of the server", bad=_with_wheel("cp39-abi3-manylinux_2_39_x86_64"))
def environment_wheels_glibc(model: Model, destination: Destination) -> Iterator[Finding]:
    image = image_of(destination) or image_built_for(model.repository)
    has: tuple[int, ...] = (image.glibc or ()) if image else glibc_version()
    for packages in packages_of(model) if has else ():
        for path, tags in packages.wheels():
            needed = [glibc for tag in tags if (glibc := glibc_of(str(tag)))]
            if needed and min(needed) > has:
                where = f"the image of Triton {image.release}" if image else "this machine"
                message = f"this package needs glibc {dotted(min(needed))}, and {where} has {dotted(has)}"
                effect = f"its import fails: version `GLIBC_{dotted(min(needed))}' not found"
                cure = "build the archive for this image (--image), or use an older version of the package"
                yield Finding(place_in(model.repository, packages, path), message, effect, cure)
