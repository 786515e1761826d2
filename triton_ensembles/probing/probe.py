"""Runs the models of one repository: loads them all, then sends each its requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tritonclient.grpc import InferenceServerClient
from tritonclient.utils import InferenceServerException

from triton_ensembles.checking.probe import ProbedModel, Trial
from triton_ensembles.checking.repository import Model
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.probing.load import LostError, load
from triton_ensembles.probing.requests import requests_for
from triton_ensembles.probing.stream import answered
from triton_ensembles.project.examples.made_up import calls_in
from triton_ensembles.server.home import Installation
from triton_ensembles.server.server_command import Reach
from triton_ensembles.server.server_process import BUSY_ABORT
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.model_config import ModelConfig, config_of

# A server that loads what it is told to, one model after the other, and does not wait long at its end.
_ARGUMENTS = ("--model-control-mode=explicit", "--exit-timeout-secs=2")


@dataclass
class Prober:
    """Runs ``models``, by the names of their folders in ``repository``, which is what the server reads.

    A server that crashes or hangs is started again without the model that it was busy with.

    Attributes:
        python: the minor version of the stubs' Python; "" for that of the server.
        completes: whether the server completes configs.
        seconds: that a load, or an answer, may take.
        written: the folders of models as people wrote them, where they are others.
        home: the Triton that runs them; None for the one that ``setup`` has installed.
    """

    repository: Path
    models: Mapping[str, Model]
    python: str
    completes: bool
    seconds: float
    progress: Progress
    written: Mapping[str, Path] = field(default_factory=dict)
    home: Installation | None = None
    _calls: dict[str, frozenset[str]] = field(default_factory=dict)
    _probed: dict[str, ProbedModel] = field(default_factory=dict)
    _lost: set[str] = field(default_factory=set)
    _again: set[str] = field(default_factory=set)  # loads that are tried once more

    def run(self) -> dict[str, ProbedModel]:
        """Return what became of each model; of ensembles, only if their steps were loaded. Raises
        :class:`EnsembleError`: the server does not start at all."""
        self._calls = {name: calls_in(self.repository / name) for name in self.models}
        while True:
            server = TritonServer(
                [self.repository],
                arguments=_ARGUMENTS,
                completes=self.completes,
                reach=Reach.SOCKETS,
                python=self.python,
                home=self.home,
            )
            server.start()
            try:
                self._load_all(server)
                self._ask_all(server)
                return self._probed
            except LostError:
                continue
            finally:
                server.stop(at_once=True)

    def _load_all(self, server: TritonServer) -> None:
        """Steps come before their ensembles: those of a step that failed are not loaded."""
        waiting = {name: self._steps(name) for name in self.models if not self._refused(name)}
        while ready := [name for name, steps in waiting.items() if not steps & waiting.keys()]:
            for name in ready:
                if not any(self._refused(step) for step in waiting.pop(name)):
                    self._load(server, name)
        for name in waiting:  # ensembles of themselves
            self._load(server, name)

    def _load(self, server: TritonServer, name: str) -> None:
        folder = (self.repository / name).resolve()
        before = self._probed.get(name, ProbedModel(self.models[name], folder))
        if not before.trials:
            self.progress(f"loading {name}")
        try:
            refusal = load(server, name, self.repository.resolve() / name, self.seconds)
        except LostError as error:
            # On a machine that is very busy, 2.51.0 sometimes aborts over its stubs: that is not the model's fault.
            if BUSY_ABORT not in str(error) or name in self._again:
                self._lose(replace(before, refusal=str(error)), name)
            self._again.add(name)
            raise
        self._probed[name] = replace(before, refusal=refusal)

    def _steps(self, name: str) -> set[str]:
        return {step.model_name for step in config_of(self.repository / name).ensemble_scheduling.step}

    def _with_steps(self, name: str) -> set[str]:
        """The model and its steps, and theirs."""
        names = {name}
        while more := {step for known in names for step in self._steps(known)} - names:
            names |= more
        return names

    def _refused(self, name: str) -> bool:
        return name in self._lost or (name in self._probed and bool(self._probed[name].refusal))

    def _ask_all(self, server: TritonServer) -> None:
        with InferenceServerClient(server.grpc_url) as client:
            for name, probed in list(self._probed.items()):
                if not (probed.refusal or probed.trials or probed.untried or probed.bad_example):
                    try:
                        answer = client.get_model_config(name)
                    except InferenceServerException as error:
                        self._lose(replace(probed, refusal=str(error)), name)
                        raise LostError from error
                    config = ModelConfig.FromString(answer.config.SerializeToString())
                    self._ask(server, name, replace(probed, config=config))

    def _ask(self, server: TritonServer, name: str, probed: ProbedModel) -> None:
        self.progress(f"asking {name}")
        trials: list[Trial] = []
        configs = [config_of(self.repository / model) for model in self._with_steps(name)]
        written = self.written.get(name, self.repository / name)
        try:
            for request, trial in requests_for(name, written, probed.config, self._calls):
                try:
                    trials.append(answered(server, name, request, trial, configs, self.seconds))
                except LostError as error:
                    self._lose(replace(probed, trials=(*trials, replace(trial, failure=str(error)))), name)
                    raise
            untried = "" if trials else "no request can be made up for its inputs"
            self._probed[name] = replace(probed, trials=tuple(trials), untried=untried)
        except EnsembleError as error:
            self._probed[name] = replace(probed, bad_example=error)

    def _lose(self, probed: ProbedModel, name: str) -> None:
        self._lost.add(name)
        self._probed[name] = probed
