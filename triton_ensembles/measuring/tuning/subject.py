"""The ensemble that is tuned: what may be set of it, and the files that this is written in."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.building.places import Places
from triton_ensembles.building.planned.plan import BuildPlan, plan_build
from triton_ensembles.ground.errors import EnsembleError, UsageError
from triton_ensembles.ground.spelling import choices
from triton_ensembles.measuring.tuning.edits import Files
from triton_ensembles.measuring.tuning.goal import Goal
from triton_ensembles.measuring.tuning.knobs import Knobs
from triton_ensembles.measuring.tuning.space import Setting
from triton_ensembles.project.examples.folder import Examples, read_examples
from triton_ensembles.triton.targets import Target


@dataclass(frozen=True)
class Subject:
    """The ensemble that is tuned.

    Attributes:
        settings: what may be set; ``notes`` is what may not, and why.
        files: that the settings are written in, as they are now.
    """

    plan: BuildPlan
    places: Places
    goal: Goal
    examples: Examples
    settings: tuple[Setting, ...]
    notes: tuple[str, ...]
    files: Files


def read_subject(folder: Path, target: Target, places: Places, goal: Goal, keep: Sequence[str]) -> Subject:
    """The ensemble in ``folder``, before anything is built.

    Args:
        keep: settings that stay as they are: ``STEP.KEY``, or a key for all steps.

    Raises:
        EnsembleError: it cannot be read, or nothing can be set.
    """
    plan, examples = plan_build(folder, target, places.root), read_examples(folder)
    cores = len(os.sched_getaffinity(0))
    knobs = Knobs(plan, cores, goal.p99_ms, lower_precision=bool(list(examples.rows())))
    settings = _without(keep, knobs, folder)
    return Subject(plan, places, goal, examples, settings, tuple(knobs.notes), Files(plan, settings))


def _without(keep: Sequence[str], knobs: Knobs, folder: Path) -> tuple[Setting, ...]:
    """The settings without those in ``keep``."""
    known = {name for setting in knobs.settings for name in (setting.name, setting.key)}
    for name in keep:
        if name not in known:
            message = f"there is no setting {name!r} to keep"
            raise UsageError(message, path=folder, cure=f"there are {choices(known)}")
    settings = tuple(setting for setting in knobs.settings if not {setting.name, setting.key} & set(keep))
    if not settings:
        raise EnsembleError("there is nothing to search: no setting has a second value", path=folder)
    return settings
