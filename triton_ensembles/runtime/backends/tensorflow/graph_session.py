"""Runs a frozen TensorFlow GraphDef (variables folded into constants) or a SavedModel, as the platforms
tensorflow_graphdef and tensorflow_savedmodel do.

Source of the parameters: README of triton-inference-server/tensorflow_backend, "Parameters".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError

from triton_ensembles.runtime.backends.common.batching import Array, BadInputError, Request, Result, run_batch
from triton_ensembles.runtime.backends.common.model_instance import (
    TRITON_TYPES,
    LoadError,
    ModelInstance,
    Tensor,
    check_tensor,
    check_tensors,
)


class GraphSession:
    """A session over the graph, for one model instance."""

    def __init__(self, model: ModelInstance) -> None:
        self._batched = model.batched
        self._feeds = tuple(tensor.name for tensor in model.inputs)
        self._graph = tf.Graph()
        self._session = tf.compat.v1.Session(graph=self._graph, config=_config(model))
        if model.gpu is not None and len(tf.config.list_physical_devices("GPU")) <= model.gpu:
            raise LoadError("the config asks for KIND_GPU, but the installed TensorFlow finds no such GPU")
        with self._graph.as_default(), tf.device("/CPU:0" if model.gpu is None else f"/GPU:{model.gpu}"):
            try:
                self._names = (_signature if model.file.is_dir() else _import)(model, self._session)
            except LoadError:
                raise
            except Exception as error:  # OSError, ValueError, NotFoundError (an op this TensorFlow lacks) …
                raise LoadError(f"TensorFlow {tf.__version__} cannot load {model.file.name}: {error}") from error
        self._calls: dict[tuple[str, ...], Callable[..., Sequence[Array]]] = {}
        self._call_for(tuple(tensor.name for tensor in model.outputs))

    def answer(self, requests: Sequence[Request]) -> list[Result]:
        return run_batch(requests, self._run, batched=self._batched)

    def close(self) -> None:
        self._session.close()

    def _run(self, inputs: Mapping[str, Array], outputs: tuple[str, ...]) -> Sequence[Array]:
        try:
            return self._call_for(outputs)(*(inputs[name] for name in self._feeds))
        except tf.errors.InvalidArgumentError as error:
            raise BadInputError(error.message) from error

    def _call_for(self, outputs: tuple[str, ...]) -> Callable[..., Sequence[Array]]:
        """The part of the graph that these outputs need, prepared once; Session.run() would look it up each time."""
        if outputs not in self._calls:
            self._calls[outputs] = self._session.make_callable(
                [_tensor(self._graph, self._names.get(name, name)) for name in outputs],
                feed_list=[_tensor(self._graph, self._names.get(name, name)) for name in self._feeds],
            )
        return self._calls[outputs]


def _signature(model: ModelInstance, session: tf.compat.v1.Session) -> dict[str, str]:
    """Load a SavedModel into the session; the names in the graph of the tensors of its signature."""
    tag = model.parameters.get("TF_GRAPH_TAG", "serve")
    key = model.parameters.get("TF_SIGNATURE_DEF", "serving_default")
    signatures = tf.compat.v1.saved_model.load(session, [tag], str(model.file)).signature_def
    if key not in signatures:
        have = ", ".join(signatures) or "none"
        raise LoadError(f'{model.file.name} has no signature "{key}" (TF_SIGNATURE_DEF): it has {have}')
    names: dict[str, str] = {}
    sides = ("input", model.inputs, signatures[key].inputs), ("output", model.outputs, signatures[key].outputs)
    for kind, declared, infos in sides:
        names |= {name: info.name for name, info in infos.items()}
        there = [_described(_tensor(session.graph, info.name), name) for name, info in infos.items()]
        check_tensors(kind, declared, there, batched=model.batched, all_needed=kind == "input")
    return names


def _import(model: ModelInstance, session: tf.compat.v1.Session) -> dict[str, str]:
    """Load a frozen graph into the session, whose names are those of the config."""
    definition = tf.compat.v1.GraphDef()
    try:
        definition.ParseFromString(model.file.read_bytes())
    except DecodeError as error:
        raise LoadError(f"{model.file.name} is not a TensorFlow GraphDef") from error
    if model.batched:
        _free_batch_axis(definition, {tensor.name for tensor in model.inputs})
    tf.import_graph_def(definition, name="")
    _check(model, session.graph)
    return {}


def _free_batch_axis(definition: Any, inputs: set[str]) -> None:
    """Let the batch axis of the inputs have any size, even if the graph was exported for 1. The native backend runs
    such a graph with any batch, but TensorFlow's Python API would refuse."""
    for node in definition.node:
        if node.op == "Placeholder" and node.name in inputs and node.attr["shape"].shape.dim:
            node.attr["shape"].shape.dim[0].size = -1


def _config(model: ModelInstance) -> Any:
    return tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=model.integer("TF_NUM_INTRA_THREADS", 0),
        inter_op_parallelism_threads=model.integer("TF_NUM_INTER_THREADS", 0),
        allow_soft_placement=True,  # as the native backend: an op without a GPU kernel runs on the CPU
        device_count={"GPU": 0} if model.gpu is None else {},
    )


def _tensor(graph: tf.Graph, name: str) -> Any:
    """The tensor that the config calls ``op`` or ``op:1``."""
    return graph.get_tensor_by_name(name if ":" in name else f"{name}:0")


def _check(model: ModelInstance, graph: tf.Graph) -> None:
    """Inputs must be placeholders; an output may be any tensor of the graph."""
    placeholders = [_described(op.outputs[0], op.name) for op in graph.get_operations() if op.type == "Placeholder"]
    check_tensors("input", model.inputs, placeholders, batched=model.batched, all_needed=False)
    for tensor in model.outputs:
        try:
            there = _described(_tensor(graph, tensor.name), tensor.name)
        except (KeyError, ValueError) as error:
            raise LoadError(
                f'the config has output "{tensor.name}", but the graph has no such tensor; '
                f"it ends in {_ends(graph) or 'nothing'}"
            ) from error
        check_tensor("output", tensor, there, batched=model.batched)


def _described(tensor: Any, name: str) -> Tensor:
    shape = tensor.shape
    dims = None if shape.rank is None else tuple(-1 if size is None else size for size in shape.as_list())
    return Tensor(name, TRITON_TYPES.get(tensor.dtype.name, f"TensorFlow's {tensor.dtype.name}"), dims)


def _ends(graph: tf.Graph) -> str:
    """The names of the last tensors that nothing in the graph reads: probably its outputs."""
    ends = [op.name for op in graph.get_operations() if op.outputs and not any(out.consumers() for out in op.outputs)]
    return ", ".join(f'"{name}"' for name in ends[-5:])
