"""``check --run``: each repository in the real server on this machine, for the rules about loads and answers."""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from triton_ensembles.checking.checker import check_repositories
from triton_ensembles.checking.fault import Fault, Severity, is_in
from triton_ensembles.checking.probe import Probe, ProbedModel
from triton_ensembles.checking.registry import RULES
from triton_ensembles.checking.repository import Form, Model, Repository
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.errors import shown
from triton_ensembles.ground.progress import Progress
from triton_ensembles.probing.probe import Prober
from triton_ensembles.runtime.backends import ENGINES
from triton_ensembles.server.home import Installation
from triton_ensembles.serving.served import Served, built_of, here, laid_out, of_built, refuse_missing
from triton_ensembles.triton.targets import Target


@dataclass(frozen=True)
class Running:
    """Runs repositories, one after the other, each in a server of its own.

    Attributes:
        target: what ensembles of a project are built for, and whose Python all steps run under, if it names one.
        seconds: that a load, or an answer, may take.
        server: the Triton that runs them; None for the one that ``setup`` has installed.
    """

    target: Target
    seconds: float
    progress: Progress
    server: Installation | None = None

    def __call__(self, repositories: Sequence[Repository], faults: Sequence[Fault]) -> Iterator[Probe]:
        """Return what became of each repository. Models in which rules find errors are left out, and so are ensembles
        of such. Raises :class:`EnsembleError`: an engine, the server or a Python is missing."""
        refuse_missing(repositories, self.server, self.target.python)
        errors = {fault.place.path for fault in faults if fault.severity is Severity.ERROR}
        for repository in repositories:
            with tempfile.TemporaryDirectory(prefix="run-", ignore_cleanup_errors=True) as scratch:
                yield self._probe(repository, errors, Path(scratch))

    def _probe(self, repository: Repository, errors: set[str], scratch: Path) -> Probe:
        is_source = repository.form is Form.SOURCE
        models = {model.folder: model for model in repository.models_read if not is_source or model.has_config}
        broken = {name: "" for name, model in models.items() if any(is_in(path, model.shown) for path in errors)}
        foreign = {name: reason for name, reason in self._foreign(models, repository) if name not in broken}
        for reasons in (broken, foreign):
            _add_ensembles(reasons, models)
        foreign = {name: reason for name, reason in foreign.items() if name not in broken}
        in_models = {path for path in errors if any(is_in(path, model.shown) for model in models.values())}
        of_whole = any(is_in(path, repository.shown) for path in errors - in_models)
        if of_whole or (is_source and broken):  # it cannot be unpacked, or built
            broken, foreign = dict.fromkeys(models, ""), {}
        elif is_source and foreign:
            foreign = dict.fromkeys(models, next(iter(foreign.values())))
        names = [name for name in models if name not in broken and name not in foreign]
        elsewhere = tuple((models[name], reason) for name, reason in foreign.items())
        probed = self._run(repository, {name: models[name] for name in names}, scratch) if names else {}
        return Probe(repository, probed, tuple(broken), elsewhere)

    def _run(self, repository: Repository, models: Mapping[str, Model], scratch: Path) -> dict[str, ProbedModel]:
        path = repository.path
        is_source = repository.form is Form.SOURCE
        self.progress(f"running {shown(path)}")
        if is_source:
            served = of_built(built_of(path, self.progress, self.target), path, self.server)
        else:
            served = laid_out(path, [repository], scratch, self.progress, self.server, self.target.python)
        named = {name: model for name in served.models if (model := _model_of(name, served, models, repository))}
        prober = Prober(
            served.repository,
            named,
            python=self.target.python or served.python,
            completes=not served.is_complete,
            seconds=self.seconds,
            progress=self.progress,
            home=self.server,
            written={name: path / model.root for name, model in named.items() if is_source},
        )
        return prober.run()

    def _foreign(self, models: Mapping[str, Model], repository: Repository) -> Iterator[tuple[str, str]]:
        """The models that this machine cannot run, and why: they need a GPU, or a backend that its server lacks."""
        rules = [rule for rule in RULES if rule.reads_destination]
        destination = replace(here(self.server), single=self.target.destination.single)
        for fault in check_repositories([repository], destination, rules):
            for name, model in models.items():
                if fault.severity is Severity.ERROR and is_in(fault.place.path, model.shown):
                    yield name, fault.message
        own = ("python", *ENGINES, *(self.server.backends if self.server else ()))
        for name, model in models.items() if not repository.builds else ():  # the build chooses other backends
            with contextlib.suppress(UnknownValueError):
                backend = model.backend.name
                known = not backend or backend in own or model.has_library(f"libtriton_{backend}.so")
                if not model.is_ensemble and not known:
                    yield name, f"there is no backend '{backend}' here"


def _add_ensembles(reasons: dict[str, str], models: Mapping[str, Model]) -> None:
    """Add the ensembles that have one of the models as a step."""
    while True:
        before = len(reasons)
        for name, model in models.items():
            steps = [step.model_name for step in model.file.config.ensemble_scheduling.step]
            if name not in reasons and (step := next((step for step in steps if step in reasons), "")):
                reasons[name] = f"it has the step '{step}'"
        if len(reasons) == before:
            return


def _model_of(name: str, served: Served, models: Mapping[str, Model], repository: Repository) -> Model | None:
    """Return the one of ``models`` that is called ``name`` where it is served, if it is one of them: the build puts the
    ensemble's name before those of its steps, and an archive's model may have the name in its config."""
    every = {model.folder for model in repository.models_read}
    if name == served.name and name not in every:
        return next((model for model in models.values() if model.is_ensemble or len(every) == 1), None)
    by_name = {model.name: model for model in models.values()}
    return models.get(name) or models.get(name.removeprefix(f"{served.name}.")) or by_name.get(name)
