"""The steps of a fused archive as the models that they were: rules see of them what they see of a drawn archive."""

from collections.abc import Iterator
from dataclasses import replace

from google.protobuf.json_format import ParseDict

from triton_ensembles.archive.clone_texts import is_plan
from triton_ensembles.archive.tree import Entry, Kind, Tree, join
from triton_ensembles.checking.repository import Form, Repository
from triton_ensembles.ground.paths import PACKAGE
from triton_ensembles.runtime.fused.plan import STEPS, Plan, plan_of
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, format_config


def steps_of(archive: Repository) -> Repository | None:
    """The repository of the steps of a fused ``archive``: their files, the configs in its plan, and for Python steps
    the packages of the archive. None: it is not fused, or its plan is not one, which the archive's own rules say."""
    for entry in archive.tree.members:
        if is_plan(entry.path) and entry.data is not None:
            try:
                plan = plan_of(entry.data)
                configs = {step.name: ParseDict(dict(step.config), ModelConfig()) for step in plan.models}
            except (ValueError, LookupError, TypeError, RecursionError):  # protobuf's ParseError is a ValueError
                return None
            version = entry.path.rpartition("/")[0]
            entries = [*_configs(configs), *_files(archive.tree, plan, version)]
            return Repository(archive.path, archive.shown, Form.ARCHIVE, Tree(entries, archive.tree.problems))
    return None


def _configs(configs: dict[str, ModelConfig]) -> Iterator[Entry]:
    for name, config in configs.items():
        config.name = name
        text = format_config(config).encode()
        yield Entry(join(name, CONFIG), Kind.FILE, len(text), data=text)


def _files(tree: Tree, plan: Plan, version: str) -> Iterator[Entry]:
    """The files of the steps; and for each Python step, the packages beside the runtime, whose code nobody reads."""
    python = [step for step in plan.models if step.backend == "python"]
    inside = join(join(version, STEPS), "")
    for entry in tree.members:
        if entry.path.startswith(inside):
            yield _moved(entry, entry.path.removeprefix(inside))
        elif entry.path.startswith(f"{version}/"):
            inner = entry.path.removeprefix(f"{version}/")
            first, slash, _ = inner.partition("/")
            if slash and first not in (STEPS, PACKAGE.name):
                package = entry if first.endswith(".dist-info") else replace(entry, data=None)
                yield from (_moved(package, f"{step.name}/{step.version}/{inner}") for step in python)


def _moved(entry: Entry, path: str) -> Entry:
    return replace(entry, path=path, written=path)
