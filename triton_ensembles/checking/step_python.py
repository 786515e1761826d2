"""The Python that runs a step: its environment's, or that of the image or the server."""

from triton_ensembles.checking.built_for import python_of
from triton_ensembles.checking.environments import environment_of, has_stub, reference
from triton_ensembles.checking.repository import Model
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.releases import image_of


def step_python(model: Model, destination: Destination) -> str:
    """The minor version, such as ``3.10``; "" when it is not known."""
    if reference(model):
        packed = environment_of(model)
        return packed.pythons[0] if packed and len(packed.pythons) == 1 else ""
    if has_stub(model) or (destination.image and not image_of(destination)):
        return ""
    recipe = model.repository.recipe
    asked_for = recipe.python_of(model.folder) if recipe else ""
    return asked_for or python_of(model.repository, destination)[0]
