"""Models in the server on this machine: it loads them, and answers what config.pbtxt says."""

from collections.abc import Iterator, Sequence

from triton_ensembles.checking.fault import is_in
from triton_ensembles.checking.probe import OutputTensor, Probe, ProbedModel, Trial
from triton_ensembles.checking.rule import Finding, Place, Server, note, rule
from triton_ensembles.checking.server_words import code_place, cure_of, place_in, said
from triton_ensembles.ground.spelling import listed
from triton_ensembles.triton.model_config import datatype_of

SOURCE = "the real server, with check --run"
SERVER = Server.JUDGES


@rule("A model loads in the server on this machine")
def run_load(probe: Probe) -> Iterator[Finding]:
    for probed in probe.models.values():
        if words := probed.refusal:
            place = code_place(words, probe) or place_in(words, probed.model)
            message, effect = f"'{probed.model.folder}' does not load", f"the server says: {said(words, probe)}"
            yield Finding(place, message, effect, cure_of(words))


@note("A model is loaded and sent a request")
def run_untried(probe: Probe) -> Iterator[Finding]:
    if probe.left_out:
        cure = "correct the errors in them, or in their steps, and run the check again"
        yield Finding(probe.repository.place(), f"not run: {listed(probe.left_out)}", "errors are known already", cure)
    for model, reason in probe.elsewhere:
        effect = "the server on this machine cannot run it"
        yield Finding(model.place(), f"'{model.folder}' was not run: {reason}", effect)
    for probed in probe.models.values():
        if probed.untried:
            cure = f"write a request: {probed.model.folder}/examples/NAME.json"
            message = f"'{probed.model.folder}' loads, and was sent no request: {probed.untried}"
            yield Finding(probed.model.place(), message, cure=cure)


@rule("A model answers a request: an example, or one that is made up from its config")
def run_request(probe: Probe) -> Iterator[Finding]:
    """A step that refuses what was made up for it, and works in its ensemble, has no fault. An ensemble that fails with
    a step, or a model that fails with one that it calls, is not a fault of its own."""
    tried = [probed for probed in probe.models.values() if probed.trials]
    answering = [probed for probed in tried if not any(trial.failure for trial in probed.trials)]
    proven = {step for ensemble in answering for step in ensemble.steps}
    lines: set[Place] = set()
    for name, probed in probe.models.items():
        if error := probed.bad_example:
            path = probed.model.place(f"examples/{error.path.name}" if error.path else "")
            yield Finding(Place(path.path, error.line or 0), error.message, "this example cannot be sent", error.cure)
        for trial in (trial for trial in probed.trials if trial.failure):
            line = code_place(trial.failure, probe)
            if (trial.is_made_up and name in proven) or _follows(probed, trial, probe, is_own=line is not None):
                continue
            if line not in lines:
                yield _failure(probed, trial, line or place_in(trial.failure, probed.model, "execute"), probe)
            lines |= {line} if line else set()


@rule("An answer has the outputs of config.pbtxt, with their datatypes and shapes")
def run_answer(probe: Probe) -> Iterator[Finding]:
    for probed in probe.models.values():
        seen: set[str] = set()
        for finding in (finding for trial in probed.trials for finding in _contradictions(probed, trial)):
            if finding.message not in seen:
                yield finding
            seen.add(finding.message)


def _failure(probed: ProbedModel, trial: Trial, place: Place, probe: Probe) -> Finding:
    name, steps = probed.model.folder, (probe.models[step].model for step in probed.steps if step in probe.models)
    step = next((f" in its step '{step.folder}'" for step in steps if is_in(place.path, step.shown)), "")
    real = f"correct it, or write a request that it takes: {name}/examples/NAME.json" if trial.is_made_up else ""
    effect = f"the server says: {said(trial.failure, probe)}"
    return Finding(place, f"'{name}' fails{step} on {trial.label}", effect, cure_of(trial.failure) or real)


def _follows(probed: ProbedModel, trial: Trial, probe: Probe, *, is_own: bool) -> bool:
    """Return whether the model fails because of another one: one that it calls was not loaded, or a step has a fault
    and the failure is not one of some code (``is_own``)."""
    missing = [*probe.left_out, *(name for name, known in probe.models.items() if known.refusal)]
    steps = [] if is_own else [probe.models[step] for step in probed.steps if step in probe.models]
    sent = ((step, request) for step in steps for request in step.trials)
    is_faulty = any(request.failure or any(_contradictions(step, request)) for step, request in sent)
    return is_faulty or any(f"'{name}'" in trial.failure for name in missing)


def _contradictions(probed: ProbedModel, trial: Trial) -> Iterator[Finding]:
    if trial.failure:
        return
    name, is_decoupled = probed.model.folder, probed.config.model_transaction_policy.decoupled
    answered = {output.name for output in trial.outputs}
    for index, tensor in enumerate(probed.config.output):
        wanted = not trial.requested or tensor.name in trial.requested
        if wanted and tensor.name not in answered and not is_decoupled:
            message = f"the answer of '{name}' lacks the output '{tensor.name}'"
            cure = f"answer with '{tensor.name}' as well, or delete the output from config.pbtxt"
            yield Finding(_at(probed, index, tensor.name, "name"), message, f"it answered {trial.label}", cure)
        if tensor.name in trial.classified:
            continue
        shape = [*([trial.rows if not is_decoupled else -1] if trial.rows else []), *tensor.dims]
        for output in (output for output in trial.outputs if output.name == tensor.name):
            yield from _differences(probed, index, output, datatype_of(tensor.data_type), shape)


def _differences(
    probed: ProbedModel, index: int, output: OutputTensor, declared: str, shape: Sequence[int]
) -> Iterator[Finding]:
    head = f"the output '{output.name}' of '{probed.model.folder}'"
    if output.datatype != declared:
        message = f"{head} is {output.datatype}, and the config says {declared}"
        effect = "Triton sends it as it is: clients and other models read wrong values, or refuse it"
        cure = f"answer with {declared}, or write data_type: TYPE_{output.datatype.replace('BYTES', 'STRING')}"
        yield Finding(_at(probed, index, output.name, "data_type"), message, effect, cure)
    fits = [dim in (-1, size) for dim, size in zip(shape, output.shape, strict=False)]
    if len(shape) != len(output.shape) or not all(fits):
        rows = len(shape) - len(probed.config.output[index].dims)  # axes of the batch
        batch, dims = ", with the batch first" if rows else "", ", ".join(map(str, output.shape[rows:]))
        message = f"{head} has the shape {list(output.shape)}, and the config says {list(shape)}{batch}"
        effect = "Triton sends it as it is: clients and other models that rely on the config fail"
        cure = "answer with that shape" + (f", or write dims: [ {dims} ], with -1 where a size varies" if dims else "")
        yield Finding(_at(probed, index, output.name, "dims"), message, effect, cure)


def _at(probed: ProbedModel, index: int, name: str, field: str) -> Place:
    """Return the place of the output in the file; Triton may have completed what it does not have."""
    names = [tensor.name for tensor in probed.model.file.config.output]
    return probed.model.at("output", names.index(name) if name in names else index, field)
