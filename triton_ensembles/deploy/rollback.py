"""The resources that this run has created, so that a failure halfway leaves nothing behind."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from triton_ensembles.ground.progress import Progress

# Takes the kind and name of a resource, as users are told, and what deletes it, also where it does not exist. It is
# called before the resource is requested: a request may have succeeded although its answer was lost.
Created = Callable[[str, Callable[[], object]], None]


@contextmanager
def rollback(progress: Progress) -> Iterator[Created]:
    """Deletes what was created, the latest first, when the block ends with an exception (Ctrl-C is one too).

    A deletion that fails is reported and does not stop the others.

    Args:
        progress: is told what is deleted and what could not be deleted.
    """
    resources: list[tuple[str, Callable[[], object]]] = []
    try:
        yield lambda what, delete: resources.append((what, delete))
    except BaseException:
        for resource, delete in reversed(resources):
            progress(f"rolling back: deleting the {resource}")
            try:
                delete()
            except Exception as failure:
                progress(f"could not delete the {resource}: {failure}")
        raise
