"""The settings of a local endpoint."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.server.home import Installation

GIB = 1 << 30
ACCOUNT = "123456789012"  # moto's account too, so that their ARNs agree
_SAFE = re.compile(r"[0-9A-Za-z._/-]+")


@dataclass(frozen=True)
class Settings:
    """Everything that ``run_endpoint`` needs."""

    root: Path  # the working folder; logs stay in it, everything else is removed at the end
    port: int = 8080  # on the loopback interface; 0 for a free one
    memory_budget: int = 8 * GIB  # bytes that one instance (a tritonserver and its Python processes) may use
    disk_budget: int = 32 * GIB  # bytes of its unpacked models, with the environments that Triton unpacks
    evict_ahead: bool = False  # after a load, so that the next one does not wait for an unload
    s3_url: str | None = None  # another S3 for archives, with credentials from the environment
    region: str = "us-east-1"  # of ARNs
    server: Installation | None = None  # the Triton of every container; None for the one that setup has installed

    def __post_init__(self) -> None:
        if not _SAFE.fullmatch(str(self.root.resolve())):
            message = "this path may only have letters, digits and . _ - in it: Triton passes it to a shell"
            raise EnsembleError(message, path=self.root, cure="choose another with --root")
        try:
            usable = not self.s3_url or bool(urlsplit(self.s3_url).hostname and urlsplit(self.s3_url).port != 0)
        except ValueError:  # the port is too large
            usable = False
        if not usable:
            cure = "write it as http://127.0.0.1:9000"
            raise EnsembleError(f"--s3-url {self.s3_url} is not the URL of a server", cure=cure)

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def log(self, endpoint: str) -> Path:
        """The log file of an endpoint, which its tritonservers append to; ``platform.log`` and ``s3.log`` are taken."""
        return self.logs / f"{endpoint}{'.endpoint' if endpoint in ('platform', 's3') else ''}.log"

    @property
    def scratch(self) -> Path:
        """The folder for everything that is removed at the end."""
        return self.root / "run"

    def arn(self, kind: str, name: str) -> str:
        """``arn:aws:sagemaker:REGION:ACCOUNT:endpoint/name``; SageMaker writes names in lower case there."""
        return f"arn:aws:sagemaker:{self.region}:{ACCOUNT}:{kind}/{name.lower()}"
