"""What a variant is given besides its plan."""

from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.endpoint.events import RecentEvents
from triton_ensembles.endpoint.metrics.record import Metrics
from triton_ensembles.hosting.objects import S3Objects
from triton_ensembles.server.home import Installation


@dataclass(frozen=True)
class Context:
    """The surroundings of a variant.

    Attributes:
        endpoint: the name.
        root: a folder that the variant makes and removes. Triton passes its path to a shell.
        log: the endpoint's log file; all instances append Triton's own lines to it. It is kept.
        server: the Triton of the containers; None for the one that ``setup`` has installed.
    """

    endpoint: str
    objects: S3Objects
    root: Path
    log: Path
    metrics: Metrics
    events: RecentEvents
    server: Installation | None = None
