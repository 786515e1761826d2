"""Environment files, compared with what model.py imports, and with the Python of the image."""

import re
from collections.abc import Iterator

from packaging.utils import canonicalize_name

from triton_ensembles.checking.imported_packages import PROVIDERS, imported, standard_library
from triton_ensembles.checking.rule import Destination, Finding, Place, Repository, note, warning
from triton_ensembles.recipe_rules.recipe_of import environment_files, packed_files
from triton_ensembles.triton.releases import image_of


@note("The environment file names what the steps' model.py import", source="envs/*.yml of the recipe")
def environment_import_unnamed(repository: Repository) -> Iterator[Finding]:
    for path, spec, environment in environment_files(repository):
        of_pip = (re.split(r"[^A-Za-z0-9._-]", text.strip(), maxsplit=1)[0] for text in spec.pip_packages)
        named = set(map(canonicalize_name, (*(package.name for package in spec.packages), *of_pip)))
        for step in environment.steps:
            model = repository.model(step)
            for file, unnamed in imported(model) if model else ():
                if unnamed.instead_of:  # the environment need not have it
                    continue
                provider = PROVIDERS.get(unnamed.package, unnamed.package)
                names = {canonicalize_name(unnamed.package), canonicalize_name(provider)}
                # onnxruntime-gpu has onnxruntime, python-slugify slugify, and pytorch torch.
                known = any(name in other or other in name for name in names for other in named)
                if unnamed.package not in standard_library() and unnamed.package != "numpy" and not known:
                    message = f"{path} does not name '{unnamed.package}'"
                    effect = f"without it the step fails: ModuleNotFoundError: No module named '{unnamed.package}'"
                    yield Finding(
                        file.place(unnamed.node), message, effect, f"add {provider} with its version to {path}"
                    )


@warning(
    "The environment file requires the Python of the image's stub", source="python_backend README r24.10; releases.csv"
)
def environment_file_python(repository: Repository, destination: Destination) -> Iterator[Finding]:
    image = image_of(destination)
    for path, spec, environment in packed_files(repository) if image and image.python else ():
        if spec.python and image and spec.python != image.python:
            message = (
                f"this requires Python {spec.python}, and the stub of Triton {image.release} is for {image.python}"
            )
            steps = " and ".join(environment.steps[:5])
            effect = f"{steps} start in this image only with a stub for Python {spec.python} of their own"
            yield Finding(Place(path), message, effect, f"write python={image.python}")
