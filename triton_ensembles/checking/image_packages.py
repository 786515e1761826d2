"""The modules that an image has beyond those of NVIDIA's plain one, as its tag or its Dockerfile says them:
image_packages.csv, whose head names its sources."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from triton_ensembles.checking.imported_packages import PROVIDERS
from triton_ensembles.ground.files import table_rows
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.requirements import Declared

_TABLE = Path(__file__).parent / "image_packages.csv"
_AND_MORE = "…"
_DISTRIBUTIONS = {"vllm": "vllm", "trtllm": "tensorrt-llm"}


@dataclass(frozen=True)
class ImageModules:
    """The names that Python can import in an image, beside its standard library and numpy; ``more`` says why there may
    be others, and is "" where there are none."""

    names: frozenset[str]
    more: str = ""


@cache
def image_modules(destination: Destination, declared: Declared | None = None) -> ImageModules:
    """Return what the tag of the image, the Dockerfile that it is made from and what is ``declared`` for the steps tell
    of the packages that there will be."""
    file, engine = destination.dockerfile, _DISTRIBUTIONS.get(destination.language_models, "")
    installed = {*(file.packages if file else ()), *([engine] if engine else ())}
    names, unknown = _modules_of({*installed, *(declared.packages if declared else ())})
    more = ""
    if not destination.is_of_nvidia:
        more = f"{destination.image} is not NVIDIA's own image, and may have it"
    elif file and file.unread:
        more = f"what {file.unread} installs was not read"
    elif declared and declared.unread:
        more = f"what {declared.unread} of {declared.place} brings was not read"
    elif engine:
        more = f"what is known of this image is what {engine} requires"
    elif unknown:
        place = declared.place if declared else file.path if file else ""
        more = f"{unknown}, which {place} installs, may bring it"
    return ImageModules(names, more)


def _modules_of(distributions: Iterable[str]) -> tuple[frozenset[str], str]:
    """The modules of distributions and of all that they require, and one of them of which that is not known."""
    table, names, unknown = _table(), set(), ""
    waiting, seen = sorted(distributions, reverse=True), set()
    while waiting:
        name = waiting.pop()
        if name in seen or name == _AND_MORE:
            continue
        seen.add(name)
        names.add(name.replace("-", "_"))
        names.update(module for module, provider in PROVIDERS.items() if provider == name)
        if name in table:
            modules, brings = table[name]
            names.update(modules)
            waiting += brings
        elif name in distributions:
            names.update(_likely(name))
            unknown = unknown or name
    return frozenset(names), unknown


def _likely(name: str) -> set[str]:
    """The modules that a distribution that is not in the table may have, by the habits of their names."""
    words = [word for word in name.split("-") if word not in ("python", "py", "headless", "gpu", "cpu", "binary")]
    short = "_".join(words) or name
    return {short, short.split("_")[0], name.split("-")[-1], short.removeprefix("py"), f"py{short}"}


@cache
def _table() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    rows = table_rows(_TABLE)
    return {row["distribution"]: (tuple(row["modules"].split()), tuple(row["brings"].split())) for row in rows}
