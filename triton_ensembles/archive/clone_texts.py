"""The texts in which clones of an archive differ: configs, the manifest, and the plan of a fused ensemble."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from triton_ensembles.archive.manifest import MANIFEST, PROVIDED, RANDOM
from triton_ensembles.archive.model_names import ModelNames
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import parse_json
from triton_ensembles.runtime.fused.plan import DIGEST, PLAN
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, format_config, parse_config


@dataclass(frozen=True)
class Replacement:
    """A file that takes the place of one in the archive. ``size`` is in bytes."""

    path: Path
    size: int
    sha256: str


@dataclass(frozen=True)
class Changes:
    """Differences between a clone and its original."""

    name: str  # of its ensemble, or of its only model
    files: Mapping[str, Replacement] = field(default_factory=dict)  # of its own, by the path in the original archive
    # of configs, by the model's folder in the original ("" for one model itself), or by the step of a fused ensemble
    parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # paths in the original archive of what was made from files that are replaced
    left_out: frozenset[str] = frozenset()


def differs(path: str) -> bool:
    """Return whether the file at ``path`` in an archive is a text in which clones may differ."""
    return path == MANIFEST or is_config(path) or is_plan(path)


def is_config(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return len(parts) <= 2 and parts[-1] == CONFIG


def is_plan(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return len(parts) == 3 and parts[1].isdecimal() and parts[2] == PLAN


class CloneTexts:
    """The texts of one archive, parsed once for all clones. ``originals``: their content by path (:func:`differs`)."""

    def __init__(self, originals: Mapping[str, bytes], names: ModelNames) -> None:
        self.originals, self._names = originals, names
        self._configs = {path: _parsed_config(content, path) for path, content in originals.items() if is_config(path)}
        # A name that nothing in the archive has: a text with it is that of any clone, once its name stands there.
        self._anybody = "x" + hashlib.sha256(b"".join(originals.values())).hexdigest()
        self._templates: dict[str, bytes] = {}

    @property
    def steps(self) -> list[str]:
        """The steps of a fused ensemble."""
        plans = (_parsed_plan(content) for path, content in self.originals.items() if is_plan(path))
        return [step["name"] for plan in plans if plan for step in plan["steps"]]

    @property
    def only_model(self) -> str:
        """The name in the config of an archive that is one model itself; "" for any other."""
        return self._configs[CONFIG].name if CONFIG in self._configs else ""

    def of(self, changes: Changes) -> dict[str, bytes]:
        """Texts of a clone, by their paths in the original."""
        texts = {path: _plan(path, content, changes) for path, content in self.originals.items() if is_plan(path)}
        digests = {path.partition("/")[0]: hashlib.sha256(plan).hexdigest() for path, plan in texts.items()}
        for path, config in self._configs.items():
            folder = path.rpartition("/")[0]
            if folder in digests or folder in changes.parameters:
                texts[path] = self._config(folder, config, changes, digests)
                continue
            if path not in self._templates:
                self._templates[path] = self._config(folder, config, Changes(self._anybody), {})
            texts[path] = self._templates[path].replace(self._anybody.encode(), changes.name.encode())
        if MANIFEST in self.originals:
            texts[MANIFEST] = _manifest(self.originals[MANIFEST], changes, self._names)
        return texts

    def _config(self, folder: str, original: ModelConfig, changes: Changes, plans: Mapping[str, str]) -> bytes:
        config = ModelConfig()
        config.CopyFrom(original)
        self._names.rename(config, folder, changes.name)
        for key, value in changes.parameters.get(folder, {}).items():
            config.parameters[key].string_value = value
        if folder in plans and DIGEST in config.parameters:  # reading a missing key of a protobuf map would add it
            config.parameters[DIGEST].string_value = plans[folder]
        return format_config(config).encode()


def _parsed_config(content: bytes, path: str) -> ModelConfig:
    """Triton takes comments in any encoding, and clones have none; a value in another one would not stay the same."""
    try:
        return parse_config(content.decode(), path)
    except UnicodeDecodeError:
        config = parse_config(content.decode(errors="replace"), path)
    if "\ufffd" in format_config(config):
        raise EnsembleError("a value in this config is not text in UTF-8", path=path, cure="save it as UTF-8")
    return config


def _manifest(content: bytes, changes: Changes, names: ModelNames) -> bytes:
    """The manifest of an archive that this project's build has written; any other file of the name as it is."""
    try:
        manifest = parse_json(content)
        original = manifest["ensemble"]
    except (ValueError, LookupError, TypeError):
        return content
    manifest |= {"ensemble": changes.name, "clone_of": original}
    if changes.files and isinstance(artifacts := manifest.get("artifacts"), dict):
        manifest |= _provided(artifacts, changes, names)
    return (json.dumps(manifest, indent=2, sort_keys=True) + "\n").encode()


def _provided(artifacts: dict[str, Any], changes: Changes, names: ModelNames) -> dict[str, Any]:
    """The records of the files, and what is known of the weights now that some came by hand."""
    records = dict(artifacts)
    for path in changes.left_out:
        records.pop(names.in_recipe(path), None)
    for path, file in changes.files.items():
        record = {"sha256": file.sha256, "size": file.size, "random": False, "made_from": {}, "facts": {}}
        records[names.in_recipe(path)] = record
    is_random = any(isinstance(record, dict) and record.get("random") for record in records.values())
    return {"artifacts": records, "weights": RANDOM if is_random else PROVIDED}


def _plan(path: str, content: bytes, changes: Changes) -> bytes:
    """The plan with the sizes and digests of the clone's own files, and its parameters; else the very same bytes."""
    plan = _parsed_plan(content)
    version = path.rpartition("/")[0] + "/"
    files = {inner.removeprefix(version): new for inner, new in changes.files.items() if inner.startswith(version)}
    left_out = {inner.removeprefix(version) for inner in changes.left_out}
    steps = {step["name"]: step for step in plan["steps"]} if plan else {}
    own = steps.keys() & changes.parameters.keys()
    if plan is None or not (files or left_out or own):
        return content
    for name in own:
        for key, value in changes.parameters[name].items():
            steps[name]["config"].setdefault("parameters", {})[key] = {"string_value": value}
    kept = {inner: known for inner, known in plan["files"].items() if inner not in left_out}
    plan["files"] = kept | {inner: [new.size, new.sha256] for inner, new in files.items()}
    return (json.dumps(plan, indent=1, sort_keys=True) + "\n").encode()


def _parsed_plan(content: bytes) -> dict[str, Any] | None:
    try:
        plan = parse_json(content)
        known = isinstance(plan["files"], dict) and all(isinstance(step["config"], dict) for step in plan["steps"])
        return plan if known and all(isinstance(step["name"], str) for step in plan["steps"]) else None
    except (ValueError, LookupError, TypeError):
        return None
