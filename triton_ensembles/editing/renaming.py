"""A tensor by another name: in the config of its model, in those of the ensembles that use it, and in model.py."""

import ast
from collections import defaultdict
from collections.abc import Iterator

from triton_ensembles.archive.tree import join
from triton_ensembles.checking.fault import Edit, Fault, Severity, with_edits
from triton_ensembles.checking.python.nodes import argument
from triton_ensembles.checking.python.source import UTILS, every_call
from triton_ensembles.checking.repository import Model
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.editing.edited import EditedRepository
from triton_ensembles.editing.names import Meant, places_of
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.model_config import CONFIG

_NAMED = {"get_input_tensor_by_name": (1, "name"), "Tensor": (0, "name")} | dict.fromkeys(
    ("get_input_config_by_name", "get_output_config_by_name"), (1, "name")
)


def renamed(edited: EditedRepository, tensor: Meant, to: str) -> dict[str, list[Edit]]:
    """Return the edits of each file, by its path in the repository, that give ``tensor`` the name ``to``.

    Raises:
        EnsembleError: the name is that of a tensor in a model file, is taken, or would lead to a fault.
    """
    model, name = tensor
    try:
        is_ours = model.is_ensemble or model.is_python
    except UnknownValueError:
        raise EnsembleError("this config is not complete", path=model.file.shown, cure="correct it first") from None
    if not is_ours:
        raise EnsembleError(f"'{name}' is a name in the model file of '{model.folder}'", cure="rename it there first")
    if next(places_of(Meant(model, to)), None):
        raise EnsembleError(f"'{model.folder}' has a tensor '{to}' already", cure="choose another name")
    edits: dict[str, list[Edit]] = defaultdict(list)
    for holder, path in places_of(tensor):
        if not (made := holder.file.renamed(*path, to=to)):
            raise EnsembleError(f"'{to}' cannot be written for '{name}'", path=holder.file.shown, cure="do it by hand")
        edits[join(holder.root, CONFIG)] += made
    for file, edit in _in_python(model, name, to):
        edits[file].append(edit)
    texts = {file: with_edits(edited.text_of(file), of_file) for file, of_file in edits.items()}
    before = {_key(fault) for fault in edited.faults_with({}, model)}
    after = (fault for fault in edited.faults_with(texts, model) if fault.severity is Severity.ERROR)
    new = [fault for fault in after if _key(fault) not in before]
    if new:
        raise EnsembleError(f"then {new[0].message}", path=new[0].place.path, line=new[0].place.line or None)
    return edits


def _in_python(model: Model, name: str, to: str) -> Iterator[tuple[str, Edit]]:
    for file, call, function in every_call(model) if model.is_python else ():
        position = _NAMED.get(function.removeprefix(f"{UTILS}."))
        node = argument(call, *position) if position else None
        if isinstance(node, ast.Constant) and node.value == name:
            yield from ((join(model.root, file.path), edit) for edit in file.renamed(node, name, to))


def _key(fault: Fault) -> tuple[str, str, int]:
    return fault.rule, fault.place.path, fault.place.line
