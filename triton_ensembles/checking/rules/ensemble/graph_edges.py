"""Types and shapes along the edges of an ensemble's graph: core r24.10 ensemble_utils.cc ValidateTensorConsistency."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from triton_ensembles.checking.config_tensors import VARIABLE, enumerated, same_shape, tensors, type_name
from triton_ensembles.checking.dataflow import Dataflow
from triton_ensembles.checking.ensemble_steps import steps
from triton_ensembles.checking.examples import SCALE, ensemble, io_tensor, step
from triton_ensembles.checking.rule import Finding, Model, Place, Severity, rule, warning
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.triton.model_config import DataType

SOURCE = "core r24.10 ensemble_utils.cc ValidateTensorConsistency"
_OWN = "the ensemble"
_WHOLE = step("whole", {"X": "X"}, {"Y": "Y"})
_ANY = io_tensor("X", dims="-1")
GOOD = ensemble(SCALE, inputs=_ANY)


class Node(NamedTuple):
    """How one model declares a tensor.

    ``path`` is where the ``ensemble`` maps the tensor to it; ``reads`` whether the tensor flows to ``who``. Each
    property may be unknown.
    """

    who: str
    tensor: Any
    model: Model
    ensemble: Model
    path: tuple[str | int, ...]
    reads: bool

    @property
    def at(self) -> Place:
        return self.ensemble.at(*self.path)

    @property
    def dims(self) -> list[int]:
        """The dims; of an ensemble's own tensor as its reshape has them."""
        reshaped = self.who == _OWN and self.tensor.HasField("reshape")
        return list(self.tensor.reshape.shape if reshaped else self.tensor.dims)

    @property
    def batching(self) -> bool:
        size = self.model.config.max_batch_size
        if size < 0:  # max-batch-size-negative
            raise UnknownValueError
        return bool(size > 0)

    @property
    def full_dims(self) -> list[int]:
        return [-1, *self.dims] if self.batching else self.dims

    def fits(self, node: "Node") -> bool:
        return same_shape(self.dims, node.dims) or same_shape(self.full_dims, node.full_dims)


def edges(model: Model) -> Iterator[tuple[str, Node, Node]]:
    """(tensor, its first declaration, a later one), in the order in which core compares them.

    The ensemble's own inputs and outputs come first; then each step's inputs and outputs are compared with the first
    declaration, and not with each other.
    """
    first: dict[str, Node] = {}
    items = list(steps(model))
    for kind in ("input", "output") if items else ():
        for _, index, tensor in enumerated(model, kind):
            first.setdefault(tensor.name, Node(_OWN, tensor, model, model, (kind, index), kind == "output"))
    for item in items:
        who = f"'{item.message.model_name}'"
        if item.configured is None:
            continue
        for kind, _, tensor in tensors(item.configured):
            with suppress(UnknownValueError):
                name = getattr(item.message, f"{kind}_map").get(tensor.name)
                if name is None:
                    continue
                path = (*item.path, f"{kind}_map", tensor.name, "value")
                node = Node(who, tensor, item.configured, model, path, kind == "input")
                before = first.setdefault(name, node)
                if before is not node:
                    yield name, before, node


def known_edges(model: Model) -> Iterator[tuple[str, Node, Node]]:
    """The edges whose shapes are known."""
    for name, first, second in edges(model):
        with suppress(UnknownValueError):
            if first.full_dims and second.full_dims:
                yield name, first, second


@rule(
    "All models that share a tensor give it the same data_type",
    bad=ensemble(SCALE, inputs=io_tensor("X", "INT32")),
    good=ensemble(SCALE),
    words="in ensemble …, ensemble tensor …: inconsistent data type",
)
def ensemble_data_type_clash(model: Model) -> Iterator[Finding]:
    seen: set[tuple[str, int, int]] = set()  # several steps may read what one of them declares otherwise
    for name, first, second in edges(model):
        with suppress(UnknownValueError):
            types = (first.tensor.data_type, second.tensor.data_type)
            if types[0] != types[1] and DataType.TYPE_INVALID not in types and (name, *types) not in seen:
                seen.add((name, *types))
                first_type, second_type = map(type_name, types)
                message = f"the tensor '{name}' is {first_type} for {first.who}, but {second_type} for {second.who}"
                cure = "make them agree, or add a step between them that converts the tensor"
                yield Finding(second.at, message, cure=cure)


@rule(
    "All models that share a tensor give it compatible shapes; -1 is compatible with every length",
    bad=ensemble(SCALE, inputs=io_tensor("X", dims="5")),
    words="in ensemble …, ensemble tensor …: inconsistent shape: … is inferred from … while … is inferred from …",
)
def ensemble_shape_clash(model: Model) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for name, first, second in edges(model):
        with suppress(UnknownValueError):
            if first.fits(second):
                continue
            shapes = (name, f"{first.full_dims} {second.full_dims}")
            invalid = any(dim < 1 and dim != VARIABLE for dim in (*first.dims, *second.dims))  # tensor-dim-invalid
            if first.dims and second.dims and not invalid and shapes not in seen:
                seen.add(shapes)
                shapes_of = f"{first.full_dims} for {first.who}, but {second.full_dims} for {second.who}"
                message = f"the tensor '{name}' has the shape {shapes_of}"
                if first.batching != second.batching:
                    batching = first if first.batching else second
                    message += f" (only {batching.who} batches, which puts -1 in front)"
                cure = "make them agree; -1 means any length, and dims do not include the batch axis"
                yield Finding(second.at, message, cure=cure)


@warning(
    "A step without batching has a batch axis in the dims of what it reads from an ensemble with batching",
    source="core r24.10 ensemble_scheduler.cc ReshapeTensorDims strips the batch axis when it is 1; "
    "measured on tritonserver 2.51.0",
    bad=ensemble(_WHOLE, inputs=io_tensor("X", dims="-1, 4"), outputs=io_tensor("Y", dims="-1, 4")),
    good=ensemble(_WHOLE),
)
def ensemble_batch_of_one(model: Model) -> Iterator[Finding]:
    seen: set[str] = set()  # of all tensors of a step that does not batch, the first
    for name, first, second in known_edges(model):
        batching, single = (first, second) if first.batching else (second, first)
        clash = not same_shape(first.full_dims, second.full_dims) and same_shape(first.dims, second.dims)
        flows = batching.batching and not batching.reads and single.reads and not single.batching
        if clash and flows and model.config.max_batch_size > 1 and single.who not in seen:
            seen.add(single.who)
            shapes = f"{batching.full_dims} for {batching.who}, which batches, and {single.full_dims} for {single.who}"
            message = f"the tensor '{name}' has the shape {shapes}, which does not"
            effect = "Triton serves requests of one row and refuses larger ones: unexpected shape for input"
            cure = f"let {single.who} batch, or write dims: {batching.full_dims} for it, or max_batch_size: 1 here"
            yield Finding(single.at, message, effect, cure)


@rule(
    "A step without batching gives one with batching no more rows than its max_batch_size",
    source="core r24.10 infer_request.cc Normalize: the first axis of a step that batches is its batch; "
    "measured on tritonserver 2.51.0",
    bad=ensemble(SCALE, inputs=io_tensor("X", dims="16, 4"), outputs=io_tensor("Y", dims="16, 4"), size=0),
    good=ensemble(SCALE, inputs=io_tensor("X", dims="8, 4"), outputs=io_tensor("Y", dims="8, 4"), size=0),
    lower=Severity.NOTE,
)
def ensemble_batch_too_large(model: Model) -> Iterator[Finding]:
    """Yield a note where an ensemble that does not batch takes any number of rows, all of which are one batch."""
    seen: set[str] = set()
    for name, first, second in known_edges(model):
        batching, fixed = (first, second) if first.batching else (second, first)
        if not batching.batching or fixed.batching or fixed.reads or not batching.reads or batching.who in seen:
            continue
        rows, most = fixed.dims[0], batching.model.config.max_batch_size
        if not same_shape(fixed.dims[1:], batching.dims):
            continue
        if rows == VARIABLE and fixed.who == _OWN:
            seen.add(batching.who)
            message = f"the first axis of '{name}' is the batch of {batching.who}, and the ensemble does not batch"
            effect = f"requests of more than {most} rows are refused: inference request batch-size must be <= {most}"
            cure = f"if all its steps batch, write max_batch_size: {most} here, and dims without the batch axis"
            yield Finding(fixed.at, message, effect, cure, Severity.NOTE)
        elif rows > most:
            seen.add(batching.who)
            message = f"the tensor '{name}' has {rows} rows for {fixed.who}, and {batching.who} takes at most {most}"
            effect = f"Triton loads it, and refuses every request: inference request batch-size must be <= {most}"
            cure = f"let {batching.who} take {rows} (max_batch_size), or let {fixed.who} batch"
            yield Finding(batching.at, message, effect, cure)


@rule(
    "All tensors that a step reads, and all outputs, come from the same decoupled step",
    source="core r24.10 ensemble_utils.cc ValidateEnsembleConfig",
    bad=ensemble(step("stream", {"X": "X"}, {"Y": "T"}), step("join", {"A": "T", "B": "X"}, {"SUM": "Y"})),
    good=ensemble(step("stream", {"X": "X"}, {"Y": "T"}), step("join", {"A": "T", "B": "T"}, {"SUM": "Y"})),
    words="in ensemble …, step of model '…' receives inputs originated from different decoupled models",
)
def ensemble_decoupled_mix(model: Model) -> Iterator[Finding]:
    cure = "send what the step needs also through the decoupled step"
    labels = {tensor.name: 0 for tensor in model.config.input}
    items = {item.number: item for item in steps(model)}
    newest = 0
    for item in (items[number] for number in Dataflow.of(model).order if number in items):
        read = set(item.message.input_map.values())
        if not read <= labels.keys():  # it waits for a cycle, or for what nothing writes
            continue
        sources = {labels[name] for name in read}
        if len(sources) > 1:
            message = f"step {item.number} ('{item.message.model_name}') mixes tensors of a decoupled step with others"
            yield Finding(model.at(*item.path), message, cure=cure)
        label = max(sources, default=0)
        if item.model and item.model.config.model_transaction_policy.decoupled:
            newest += 1
            label = newest
        for name in item.message.output_map.values():
            labels.setdefault(name, label)
    if len({labels[tensor.name] for tensor in model.config.output if tensor.name in labels}) > 1:
        message = "the outputs come from different decoupled steps, or from one and from others"
        yield Finding(model.at("output"), message, cure=cure)
