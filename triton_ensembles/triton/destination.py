"""What the repository is meant for: the server's release, and where it will run."""

from __future__ import annotations

import re
from dataclasses import dataclass

LOCAL = (24, 10)  # tritonserver 2.51.0, the server that this project runs and that the rules are proven against
_RELEASE = re.compile(r"(?<![\d.])(\d\d)\.(\d\d)(?!\d)")


@dataclass(frozen=True)
class Destination:
    """``device`` is "cpu", "gpu" or "" (not said); ``instance`` an instance type of SageMaker; ``image`` its image."""

    device: str = ""
    instance: str = ""
    image: str = ""

    @property
    def release(self) -> tuple[int, int]:
        """The Triton release (year, month) in the image's name or tag: ``24.09``, ``…tritonserver:24.09-py3``."""
        match = _RELEASE.search(self._tag)
        return (int(match[1]), int(match[2])) if match else LOCAL

    @property
    def image_names_release(self) -> bool:
        return bool(_RELEASE.search(self._tag))

    @property
    def release_name(self) -> str:
        return "{:02}.{:02}".format(*self.release)

    @property
    def _tag(self) -> str:
        """The image without the registry, which may have numbers of its own (an account, an address)."""
        return self.image.rpartition("/")[2]
