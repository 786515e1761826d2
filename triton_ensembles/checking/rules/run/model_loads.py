"""Models that the server on this machine loads, or does not."""

from collections.abc import Iterator

from triton_ensembles.checking.probe import Probe
from triton_ensembles.checking.rule import Finding, Server, note, rule
from triton_ensembles.checking.server_words import code_place, cure_of, place_in, said
from triton_ensembles.ground.spelling import listed

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
