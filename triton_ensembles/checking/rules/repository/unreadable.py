"""Archives that are broken, truncated or endless, and files that cannot be read."""

from collections.abc import Iterator

from triton_ensembles.checking.rule import Finding, Repository, rule

_UNPACKS = "SageMaker unpacks ModelDataUrl as gzip of tar: AWS, 'Use your own inference code with hosting services'"


def _problem(id: str, title: str, source: str, effect: str, cure: str) -> None:
    """A rule for problems that occurred while the repository was read."""

    @rule(title, id=id, source=source)
    def find(repository: Repository) -> Iterator[Finding]:
        for problem in repository.tree.problems:
            if problem.rule == id:
                place = repository.place(problem.path)
                yield Finding(place, problem.message, problem.effect or effect, cure)


_problem(
    "archive-unreadable",
    "An archive is a tar file compressed by gzip",
    _UNPACKS,
    "SageMaker fails to extract the model data",
    "pack it again: tar -C <repository> -czf <name>.tar.gz .",
)
_problem(
    "archive-truncated",
    "An archive is complete",
    _UNPACKS,
    "SageMaker fails to extract the model data; what comes after the break is not checked",
    "pack or copy it again",
)
_problem(
    "archive-bomb",
    "An archive unpacks to a plausible size",
    "limits of this checker: 64 GiB, 100000 files and folders, and 100 times the size of the archive, for it and the "
    "archives in it together",
    "it would fill the disk of the instance; nothing in it is checked",
    "look at what is in it",
)
_problem(
    "repository-too-large",
    "A repository has at most 5000 models, 2 MiB of configs and 100000 files",
    "limits of this checker, which keep its running time short",
    "nothing in it is checked",
    "name the folder of the repository itself, or check its models in groups",
)
_problem(
    "file-unreadable",
    "Every file and folder can be read",
    "the operating system",
    "neither Triton nor the build can read it",
    "change its permissions",
)
