"""The flow of tensors through an ensemble, as far as its own config.pbtxt describes it."""

from collections.abc import Iterator

from triton_ensembles.checking.dataflow import Dataflow, Use
from triton_ensembles.checking.examples import SCALE, X, Y, ensemble, io_tensor, step
from triton_ensembles.checking.rule import Destination, Finding, Model, Place, note, rule
from triton_ensembles.ground.spelling import listed, only_near

SOURCE = "core r24.10 model_config_utils.cc ValidateEnsembleSchedulingConfig"
GOOD = ensemble(step("scale", {"X": "X"}, {"Y": "T"}), step("scale", {"X": "T"}, {"Y": "Y"}))
_JOINED = ensemble(step("scale", {"X": "X"}, {"Y": "scaled"}), step("join", {"A": "scaled", "B": "X"}, {"SUM": "Y"}))


def _flow(model: Model) -> Dataflow:
    """Empty without steps, or with one whose maps are missing."""
    all_steps = model.config.ensemble_scheduling.step
    if not all_steps or not all(item.input_map and item.output_map for item in all_steps):  # other rules report that
        return Dataflow((), (), (), ())
    return Dataflow.of(model)


def _place(model: Model, use: Use, kind: str) -> Place:
    return model.at("ensemble_scheduling", "step", use.step, kind, use.key, "value")


@rule(
    "Every tensor that a step reads is an input of the ensemble or written by a step",
    bad=_JOINED.replace('"A", value: "scaled"', '"A", value: "scalled"'),
    good=_JOINED,
    words="… is not written: at least one of its depending tensors, '…', is not connected",
)
def ensemble_tensor_not_written(model: Model) -> Iterator[Finding]:
    flow = _flow(model)
    for name, guess in flow.never_written.items():
        if not flow.inputs and not guess:
            continue  # ensemble-without-inputs reports it
        known = [*flow.inputs, *flow.writers]
        message = f"nothing writes the tensor '{name}'"
        cure = f"did you mean '{guess}'?" if guess else f"the tensors here are {listed(known)}"
        first, *more = flow.readers[name]
        exact = guess if not more and guess == only_near(name, known) else None
        path = ("ensemble_scheduling", "step", first.step, "input_map", first.key, "value")
        edits = model.file.renamed(*path, to=exact)
        yield Finding(_place(model, first, "input_map"), message, cure=cure, edits=edits)


@rule(
    "A tensor is written by only one step",
    source="core r24.10 model_config_utils.cc BuildEnsembleGraph",
    bad=ensemble(SCALE, SCALE),
    words="ensemble tensor '…' can appear in an output map only once",
)
def ensemble_tensor_written_twice(model: Model) -> Iterator[Finding]:
    for name, uses in Dataflow.of(model).writers.items():
        for use in uses[1:]:
            message = f"step {uses[0].step} already writes the tensor '{name}'"
            yield Finding(_place(model, use, "output_map"), message, cure="give one of the two another name")


@rule(
    "No step writes a tensor that is an input of the ensemble",
    source="core r24.10 BuildEnsembleGraph does not check it; measured on tritonserver 2.51.0",
    bad=ensemble(step("scale", {"X": "X"}, {"Y": "X"}), step("scale", {"X": "X"}, {"Y": "Y"})),
)
def ensemble_input_overwritten(model: Model) -> Iterator[Finding]:
    flow = Dataflow.of(model)
    for name, uses in flow.writers.items():
        if name in flow.inputs:
            message = f"step {uses[0].step} writes '{name}', which is an input of the ensemble"
            effect = "Triton loads it, and no request is ever answered"
            cure = "give the tensor that the step writes another name"
            yield Finding(_place(model, uses[0], "output_map"), message, effect, cure)


@rule(
    "No step depends on its own output",
    bad=ensemble(
        step("join", {"A": "X", "B": "BACK"}, {"SUM": "T"}),
        step("scale", {"X": "T"}, {"Y": "BACK"}),
        step("scale", {"X": "T"}, {"Y": "Y"}),
    ),
    good=ensemble(step("scale", {"X": "T"}, {"Y": "Y"}), step("scale", {"X": "X"}, {"Y": "T"})),
    words="… is not written: at least one of its depending tensors, …, is not connected",
)
def ensemble_cycle(model: Model) -> Iterator[Finding]:
    flow = _flow(model)
    names = [item.model_name for item in model.config.ensemble_scheduling.step]
    for steps in flow.cycles:
        ring = " -> ".join(f"{names[number]} (step {number})" for number in [*steps, steps[0]])
        message = f"these steps depend on each other in a cycle: {ring}"
        cure = "break the cycle: take one of these tensors from another step or from the inputs"
        yield Finding(model.at("ensemble_scheduling", "step", steps[0]), message, cure=cure)


@rule(
    "Every output of the ensemble is written by a step",
    bad=ensemble(SCALE, outputs=f"{Y}, {io_tensor('Z')}"),
    good=ensemble(
        step("join", {"A": "X", "B": "X"}, {"SUM": "Y", "MEAN": "Z"}), outputs=f"{Y}, {io_tensor('Z', dims='1')}"
    ),
    words="ensemble output '…' for ensemble …' is not used",
)
def ensemble_output_not_written(model: Model) -> Iterator[Finding]:
    flow = _flow(model)
    for name, guess in flow.missing_outputs.items():
        message = f"no step writes the output '{name}'"
        cure = f"did you mean '{guess}'?" if guess else f"the steps write {listed(flow.writers)}"
        yield Finding(model.at("output", flow.outputs.index(name), "name"), message, cure=cure)


@rule(
    "Every input of the ensemble is read by a step",
    bad=ensemble(SCALE, inputs=f"{X}, {io_tensor('Z')}"),
    good=ensemble(step("join", {"A": "X", "B": "Z"}, {"SUM": "Y"}), inputs=f"{X}, {io_tensor('Z')}"),
    words="ensemble input '…' for ensemble …' is not used",
)
def ensemble_input_unused(model: Model) -> Iterator[Finding]:
    flow = _flow(model)
    for name in flow.unused_inputs:
        message = f"no step reads the input '{name}'"
        cure = f'write input_map {{ key: "…" value: "{name}" }} in a step, or delete the input'
        yield Finding(model.at("input", flow.inputs.index(name), "name"), message, cure=cure)


@rule(
    "Every tensor that a step writes is read by a step or an output of the ensemble",
    bad=ensemble(step("join", {"A": "X", "B": "X"}, {"SUM": "Y", "MEAN": "M"})),
    good=ensemble(step("join", {"A": "X", "B": "X"}, {"SUM": "Y"})),
    words="ensemble tensor '…' is unused in ensemble '…'",
)
def ensemble_tensor_unused(model: Model) -> Iterator[Finding]:
    flow = _flow(model)
    for name in flow.unused_tensors if flow.outputs else ():  # ensemble-without-outputs reports it
        use = flow.writers[name][0]
        cure = f"delete this output_map (a step need not map all its outputs), or make '{name}' an output"
        yield Finding(_place(model, use, "output_map"), f"nothing reads the tensor '{name}'", cure=cure)


@note(
    "No step of an ensemble runs beside another",
    source="core r24.10 ensemble_scheduler.cc ScheduleSteps, corrected in June 2026; measured on 2.51.0: the server "
    "crashed, or took no more requests over gRPC, once in about 20,000 of which half failed, on a loaded machine",
    bad=ensemble(
        step("scale", {"X": "X"}, {"Y": "Y"}), step("scale", {"X": "X"}, {"Y": "Z"}), outputs=f"{Y}, {io_tensor('Z')}"
    ),
)
def ensemble_branch(model: Model, destination: Destination) -> Iterator[Finding]:
    beside = _flow(model).beside if destination.device != "fused" else None
    if beside is None:
        return
    names = [model.config.ensemble_scheduling.step[number].model_name for number in beside]
    message = f"{names[0]} (step {beside[0]}) and {names[1]} (step {beside[1]}) run beside each other"
    effect = "when one fails in the moment in which Triton 24.10 starts the other, the server may crash"
    cure = "build it for the target fused, or pass a tensor from one to the other"
    yield Finding(model.at("ensemble_scheduling", "step", max(beside)), message, effect, cure)
