"""The settings of a host."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.hosting.budgets import Budgets
from triton_ensembles.server.home import Installation

DRAIN_SECONDS = 30.0  # that running requests may take when the host is stopped


@dataclass(frozen=True)
class Settings:
    """The options of ``host``, besides where its models are."""

    root: Path  # the working folder; logs stay in it, and the names of what was loaded
    http_port: int
    bind: str
    memory_budget: int  # bytes of tritonserver and its Python processes
    disk_budget: int  # bytes of unpacked archives, and of environments that Triton unpacks
    seconds: float  # that a request may wait for its model, and that the model may take to answer
    requests_at_once: int  # beyond it: 503
    largest_body: int  # bytes; beyond it: 413
    disable_auto_complete_config: bool
    evict_ahead: bool
    pin: Mapping[str, str]  # models that stay loaded, by name, with what asks for that: "--pin NAME"
    token_file: Path | None
    server: Installation | None
    python: str  # of Python steps; "": that of the server's stubs
    as_container: bool  # whether it is the main program of a container

    def __post_init__(self) -> None:
        if not self.memory_budget > 0 or not self.disk_budget > 0:
            raise EnsembleError(
                "a budget of nothing holds no model", cure="leave --memory-budget and --disk-budget out"
            )

    @property
    def budgets(self) -> Budgets:
        return Budgets(self.memory_budget, self.disk_budget, invoke_seconds=self.seconds, evict_ahead=self.evict_ahead)

    @property
    def token(self) -> str:
        """The word that clients must send as ``Authorization: Bearer``; "" for nothing. Raises EnsembleError."""
        if self.token_file is None:
            return ""
        try:
            token = self.token_file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeError) as error:
            raise EnsembleError(f"the token cannot be read: {error}", path=self.token_file) from None
        if not token or any(character.isspace() for character in token):
            cure = "write one word into it: python -c 'import secrets; print(secrets.token_urlsafe())'"
            raise EnsembleError("there is no token in it", path=self.token_file, cure=cure)
        return token

    @property
    def environment(self) -> dict[str, str]:
        """The variables that models see beside HOME, LANG and the like."""
        given = os.environ if self.as_container else {}
        return {name: value for name, value in given.items() if not name.startswith(("SAGEMAKER_", "PYTHON"))}

    @property
    def server_log(self) -> Path:
        return self.logs / "tritonserver.log"

    @property
    def scratch(self) -> Path:
        return self.root / "run"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def loaded(self) -> Path:
        """The names of the models that were loaded last, a line each."""
        return self.root / "loaded.txt"
