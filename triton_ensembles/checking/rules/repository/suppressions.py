"""The comments that accept faults: complete, of rules that exist, and of faults that are there."""

from collections.abc import Iterator

from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.rule import REGISTERED, Finding, Place, Repository, Scope, cure_for, note, warning
from triton_ensembles.checking.sources import suppressions_of
from triton_ensembles.checking.suppression.accepted import Found
from triton_ensembles.checking.suppression.comments import Suppression

SOURCE = "docs/ci.md of this project; Triton reads no comments"
_VERSIONS = "version_policy { specific { versions: [ 1, 2 ] } }"
GOOD = python_model(f"# check: ignore[version-missing] version 2 comes with the next training\n{_VERSIONS}")


@warning(
    "A comment that accepts faults names rules that exist, and a reason",
    bad=python_model("# check: ignore[version-missing]"),
)
def suppression_incomplete(repository: Repository) -> Iterator[Finding]:
    for comment in suppressions_of(repository):
        if not comment.rules or not comment.reason:
            message = f"this comment has no {'reason' if comment.rules else 'rule in brackets'}"
            cure = f"write # check: ignore[{', '.join(comment.rules) or 'rule-id'}] and why the fault may stay"
            yield Finding(_place(comment), message, "it accepts nothing", cure)
        for name in comment.rules:
            if name not in REGISTERED:
                yield Finding(_place(comment), f"there is no rule '{name}'", "it accepts nothing", cure_for(name))


@note("Comments accept existing faults", bad=python_model("# check: ignore[max-batch-size-negative] it is meant so"))
def suppression_unused(found: Found) -> Iterator[Finding]:
    """Silent about rules that depend on where the model will run, or on running it, and about files with errors, which
    hide others."""
    for comment, name in found.unused:
        known = REGISTERED.get(name)
        depends = known and (known.reads_destination or known.scope is Scope.PROBE)
        if known and not depends and comment.path not in found.broken:
            cure = "delete it; it has to end the line of the fault, or stand alone on the line before"
            yield Finding(_place(comment), f"there is no fault '{name}' here", "the comment accepts nothing", cure)


def _place(comment: Suppression) -> Place:
    return Place(comment.path, comment.line, comment.column)
