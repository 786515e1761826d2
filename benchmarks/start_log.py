"""Where the time of a load went, by tritonserver's own verbose log (release 24.10): begin and end of what it starts.

Python steps load side by side, so their times overlap; environments are extracted one after another (pb_env.cc).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_RECORD = re.compile(r'I\d{4} (\d\d):(\d\d):(\d\d\.\d+) \d+ (\w+\.cc):\d+\] "(.*)"$')
_STUB = "Starting Python backend stub: "
_EXTRACTING = "Extracting Python execution env "
_CONFIG = "model configuration:\\n"
_READY = re.compile(r"TRITONBACKEND_ModelInstanceInitialize: instance initialization successful (\S+) ")
_SOURCE = re.compile(r"source (/tmp/python_env_\w+/\d+)/bin/activate")
_INSTANCE = re.compile(r"_\d+_\d+$")
_DAY = 24 * 3600


@dataclass
class StepLoad:
    """One step that runs in a stub.

    Attributes:
        auto_complete: seconds of the stub that is started only to complete the config; 0 when that is switched off.
        instances: seconds from the start of each instance's stub until it was ready, by instance.
        environment: where its packed environment was extracted; None when it has none.
        config: what its ``initialize`` is given.
    """

    auto_complete: float = 0.0
    instances: dict[str, float] = field(default_factory=dict)
    environment: Path | None = None
    config: dict[str, Any] = field(default_factory=dict)


@dataclass
class Load:
    """``environments``: seconds that the extraction of each packed environment took."""

    environments: list[float] = field(default_factory=list)
    steps: dict[str, StepLoad] = field(default_factory=dict)


def read_load(log: str) -> Load:
    """The loads that ``log`` tells of."""
    load = Load()
    begun: dict[str, float] = {}
    extracting: list[float] = []  # the next one waits until the one before it has ended
    extracted: set[str] = set()
    for line in log.splitlines():
        record = _RECORD.match(line)
        if record is None:
            continue
        now = int(record[1]) * 3600 + int(record[2]) * 60 + float(record[3])
        text = record[5]
        if text.startswith(_EXTRACTING):
            extracting.append(now)
        elif text.startswith(_STUB):
            name = text.split()[-2]
            begun[name] = now
            step = load.steps.setdefault(_INSTANCE.sub("", name), StepLoad())
            if source := _SOURCE.search(text):
                step.environment = Path(source[1])
                if source[1] not in extracted:
                    extracted.add(source[1])
                    load.environments.append((now - extracting[len(extracted) - 1]) % _DAY)
        elif text.startswith(_CONFIG):
            config = json.loads(json.loads(f'"{text.removeprefix(_CONFIG)}"'))
            step = load.steps.setdefault(config["name"], StepLoad())
            step.config = config
            if config["name"] in begun:  # its stub was started before the configuration was whole
                step.auto_complete = (now - begun[config["name"]]) % _DAY
        elif ready := _READY.match(text):
            step = load.steps[_INSTANCE.sub("", ready[1])]
            step.instances[ready[1]] = (now - begun[ready[1]]) % _DAY
    return load
