"""Fields of a config.pbtxt that Triton completes from the backend by default (not in ensembles/: Form.SOURCE).

Such a value is as unknown as one that cannot be read: what the model's file says is not read here.
"""

from collections.abc import Iterator

from triton_ensembles.archive.tree import Tree, join
from triton_ensembles.checking.backend import Backend
from triton_ensembles.checking.text.parsed import Path
from triton_ensembles.triton.model_config import DataType, ModelConfig

# Backends of r24.10 that complete nothing: pytorch_backend libtorch.cc AutoCompleteConfig ("skipping model
# configuration auto-complete"), tensorflow.cc for a graphdef, and identity, repeat and square, which have no such code.
_NEVER = ("pytorch", "identity", "repeat", "square")
_METHOD = b"auto_complete_config"


def completes(config: ModelConfig, backend: Backend, tree: Tree, root: str) -> bool:
    """Whether the backend of the model at ``root``, which is no ensemble, may add inputs, outputs and max_batch_size;
    unknown backends may."""
    if backend.platform == "tensorflow_graphdef":
        return False
    if backend.name == "python" or config.runtime == "model.py":
        return _has_method(tree, root)
    # onnxruntime.cc AutoCompleteConfig: "inputs and outputs already specified"
    has_tensors = (len(config.input) or len(config.batch_input)) and len(config.output)
    return backend.name not in _NEVER and not (backend.name == "onnxruntime" and has_tensors)


def left_out(config: ModelConfig, backend: Backend) -> Iterator[Path]:
    """The paths of the config that are not given and that Triton may complete, of a model whose backend it calls for
    them; also a max_batch_size of 0, which Triton may set to its default of 4."""
    if config.max_batch_size == 0:
        yield ("max_batch_size",)
    partly = backend.name != "onnxruntime"  # which completes whole lists only
    for kind in ("input", "output"):
        tensors = getattr(config, kind)
        if not tensors:
            yield (kind,)
        for index, tensor in enumerate(tensors if partly else ()):
            if not tensor.dims:
                yield (kind, index, "dims")
            if tensor.data_type == DataType.TYPE_INVALID:
                yield (kind, index, "data_type")


def _has_method(tree: Tree, root: str) -> bool:
    """Whether a model.py may have auto_complete_config: its own text, or that of a module beside it."""
    for folder in (root, *(join(root, name) for name in tree.folders(root))):
        for name in tree.children(folder):
            entry = tree.get(join(folder, name)) if name.endswith(".py") else None
            if entry is not None and (entry.data is None or _METHOD in entry.data):
                return True
    return False
