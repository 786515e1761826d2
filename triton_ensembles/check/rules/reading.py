"""What could not be read at all: archives that are none, that break off or that would never end, unreadable files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from triton_ensembles.check.fault import Finding, Place
from triton_ensembles.check.repository import Repository
from triton_ensembles.check.rule import Rule, Scope, Server, rule
from triton_ensembles.recipe.reader import RECIPE
from triton_ensembles.triton.destination import Destination

_UNPACKS = "SageMaker unpacks ModelDataUrl as gzip of tar: AWS, 'Use your own inference code with hosting services'"


def _problems(id: str, effect: str, cure: str) -> Callable[[Repository, Destination], Iterator[Finding]]:
    def find(repository: Repository, target: Destination) -> Iterator[Finding]:
        for problem in repository.tree.problems:
            if problem.rule == id:
                place = repository.place(problem.path)
                yield Finding(place, problem.message, problem.effect or effect, problem.cure or cure)

    return find


def _reading(id: str, title: str, source: str, effect: str, cure: str) -> Rule:
    return rule(id, title, source=source, scope=Scope.REPOSITORY, server=Server.UNTESTED, bad=None, good=None)(
        _problems(id, effect, cure)
    )


archive_unreadable = _reading(
    "archive-unreadable",
    "An archive is a tar in gzip",
    _UNPACKS,
    "SageMaker fails to extract the model data",
    "pack it again: tar -C <repository> -czf <name>.tar.gz .",
)
archive_truncated = _reading(
    "archive-truncated",
    "An archive is whole",
    _UNPACKS,
    "SageMaker fails to extract the model data; what comes after the break is not checked",
    "pack or copy it again",
)
archive_bomb = _reading(
    "archive-bomb",
    "An archive unpacks to a size that can be meant",
    "limits of this checker: 64 GiB, 200000 members, and 100 times the size of the archive",
    "it would fill the disk of the instance; the rest of it is not checked",
    "look at what is in it",
)
repository_too_large = _reading(
    "repository-too-large",
    "A repository has at most 200000 files",
    "a limit of this checker, so that it ends in time",
    "the rest is not checked",
    "name the folder of the repository itself",
)
file_unreadable = _reading(
    "file-unreadable",
    "Every file and folder can be read",
    "the operating system",
    "neither Triton nor the build can read it",
    "mend its permissions",
)


@rule(
    "recipe-unreadable",
    "ensemble.toml is a valid recipe",
    source="the build of this project reads it: triton_ensembles/recipe",
    scope=Scope.REPOSITORY,
    server=Server.UNTESTED,
    bad=None,
    good=None,
)
def recipe_unreadable(repository: Repository, target: Destination) -> Iterator[Finding]:
    if repository.recipe and repository.recipe.fault:
        line, message = repository.recipe.fault
        yield Finding(Place(repository.place(RECIPE).path, line), message, "the build stops here", "mend the line")


RULES = (
    archive_unreadable,
    archive_truncated,
    archive_bomb,
    repository_too_large,
    file_unreadable,
    recipe_unreadable,
)
