"""The signature of a TensorFlow SavedModel compared with config.pbtxt, and the files of its variables."""

from collections.abc import Iterator

from triton_ensembles.archive.tree import join
from triton_ensembles.checking.loaded_files import file_of, loaded_files
from triton_ensembles.checking.model_files.file import ModelFile
from triton_ensembles.checking.model_files.saved_model import DATA, FILE, INDEX
from triton_ensembles.checking.rule import Finding, Model, rule
from triton_ensembles.checking.rules.model_files.tensors import other_dims, other_names, other_types
from triton_ensembles.triton.model_formats import SAVED_MODEL

SOURCE = "tensorflow_backend r24.10 tensorflow.cc savedmodel::ValidateTRITONTFModel; measured with TensorFlow 2.21"
_CHOICES = ("TF_GRAPH_TAG", "TF_SIGNATURE_DEF")  # parameters that name another graph or signature


@rule("A config has the inputs and outputs of its SavedModel's signature, of their types and shapes")
def saved_model_tensors(model: Model) -> Iterator[Finding]:
    config = model.config
    if config.input and config.output and not any(name in config.parameters for name in _CHOICES):
        files = [(path, file) for path, file in _files(model) if file.inputs is not None]
        for find in (other_names, other_types, other_dims):
            yield from find(model, files)


@rule("The variables of a SavedModel are in its folder")
def saved_model_variables(model: Model) -> Iterator[Finding]:
    for path, file in _files(model):
        folder, names = join(path, INDEX.partition("/")[0]), model.children(join(path, INDEX.partition("/")[0]))
        whole = INDEX.rpartition("/")[2] in names and any(name.startswith(DATA) for name in names)
        if file.external and not whole and not model.is_made(folder):
            missing = INDEX if INDEX.rpartition("/")[2] not in names else f"variables/{DATA}…"
            message = f"the graph has variables, and there is no {missing} in {path}"
            effect = "Triton does not load the model, or its requests fail: the variables have no values"
            yield Finding(model.place(path), message, effect, "copy all that tf.saved_model.save wrote into the folder")


def _files(model: Model) -> Iterator[tuple[str, ModelFile]]:
    for path, entry in loaded_files(model) if model.backend.platform == SAVED_MODEL.platform else ():
        file = file_of(model, join(path, FILE)) if entry.is_folder else None
        if file and not file.broken:
            yield path, file
