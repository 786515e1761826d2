"""Triton's own metrics of all instances in one exposition, and the times of ensembles' steps in it.

Triton's labels are model, version and namespace (the folder of the archive). Endpoints, instances or archives may have
all of these in common, so each line gets the labels endpoint, variant, instance and target_model. The runtime of a
fused ensemble adds counters for its steps (runtime/fused/counters.py), with the label step and without a namespace. A
multi-model container calls the only model of an archive by its TargetModel.

Triton keeps the counters of a model whose process was killed, and (2.51) nv_inference_request_failure of every model.
So lines of models that are not loaded are left out here: after an hour there would be thousands.
"""

import asyncio
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from triton_ensembles.hosting.connector import base_of, connector_to

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_NAMESPACE = re.compile(r'namespace="[^"]*/models/(?P<hash>[0-9A-Za-z._]+)/model"')
_MODEL = re.compile(r'(?:^|,)model="(?P<name>[^"]*)"')
_SUFFIX = re.compile(r"_(sum|count|bucket)$")
_SECONDS = 2.0
_KEPT_SECONDS = 30.0
_QUANTILES = {"0.5": "p50", "0.9": "p90", "0.99": "p99"}
_FUSED = "fused_step_"
# Of a model, and of a step of a fused ensemble.
_REQUESTS = ("nv_inference_request_success", "fused_step_requests")
_DURATIONS = ("nv_inference_request_duration_us", "fused_step_duration_us")
_SUMMARIES = ("nv_inference_request_summary_us", "fused_step_summary_us")
_STEP_TIMES = (*_REQUESTS, *_DURATIONS, *_SUMMARIES)  # what step_times reads


@dataclass(frozen=True)
class Source:
    """An instance whose metrics are read."""

    url: str  # of its metrics: "unix:PATH" or "127.0.0.1:PORT"
    labels: Mapping[str, str]  # added to each line
    target_models: Mapping[str, str]  # of the archives that it has loaded, by hash
    single: bool  # whether the one target model is all that it ever has


@dataclass
class StepTimes:
    """Milliseconds that requests spent in one step: for Triton a model of an archive, queueing and computing.

    Triton always has ``average``, and quantiles of the last minute only where it was told to keep them. A step of a
    fused ensemble has no queue, and quantiles of its latest requests; none where its archive is of an older version.
    """

    target_model: str
    step: str
    count: int = 0
    average: float | None = None
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None


_Families = dict[str, dict[str, None]]  # by name: its lines, each once, so that instances share the first ones


class TritonMetrics:
    """Reads Triton's metrics of the instances; calls during a read share it.

    With a hundred models, tritonserver takes 50 ms of a processor for an answer: a third of a second beside loads.
    """

    def __init__(self) -> None:
        self._reads: dict[str, asyncio.Task[None]] = {}
        self._latest: dict[str, tuple[float, str]] = {}  # by URL: when it was read, and the text

    async def exposition(self, sources: Iterable[Source]) -> str:
        """Return one exposition with the metrics of all instances that answer."""
        sources, texts = await self._texts(sources, None)
        return await asyncio.to_thread(_merged, sources, texts, ("",))

    async def step_times(self, sources: Iterable[Source], patience: float) -> dict[str, list[StepTimes]]:
        """:func:`step_times` of all instances; of the latest answer if one needs more than ``patience`` seconds."""
        sources, texts = await self._texts(sources, patience)
        return await asyncio.to_thread(lambda: step_times(_merged(sources, texts, _STEP_TIMES)))

    async def _texts(self, sources: Iterable[Source], patience: float | None) -> tuple[list[Source], list[str]]:
        sources = list(sources)
        urls = [source.url for source in sources]
        for url in urls:
            if url not in self._reads:
                self._reads[url] = asyncio.create_task(self._read(url))
        if urls:
            await asyncio.wait([self._reads[url] for url in urls], timeout=patience)
        oldest = time.monotonic() - _KEPT_SECONDS
        self._latest = {url: read for url, read in self._latest.items() if url in urls and read[0] > oldest}
        return sources, [self._latest[url][1] if url in self._latest else "" for url in urls]

    async def _read(self, url: str) -> None:
        try:
            timeout = aiohttp.ClientTimeout(total=_SECONDS)
            async with (
                aiohttp.ClientSession(connector=connector_to(url), timeout=timeout) as session,
                session.get(f"{base_of(url)}/metrics") as reply,
            ):
                self._latest[url] = time.monotonic(), (await reply.read()).decode(errors="replace")
        except (aiohttp.ClientError, TimeoutError):
            self._latest.pop(url, None)  # it is being restarted
        finally:
            del self._reads[url]


def step_times(exposition: str) -> dict[str, list[StepTimes]]:
    """Times of every step by "ENDPOINT/VARIANT", over all instances; quantiles only where Triton was told to keep them.

    Quantiles of several instances cannot be combined: they are those of the slowest instance.
    """
    steps: dict[tuple[str, str, str, str], StepTimes] = {}
    totals: dict[tuple[str, str, str, str], float] = {}
    lines = (line for line in exposition.splitlines() if 'target_model=""' not in line)
    for family in text_string_to_metric_families("\n".join(lines)):
        for sample in family.samples:
            labels = sample.labels
            if "model" not in labels:
                continue
            where = f"{labels['endpoint']}/{labels['variant']}"
            key = (where, labels["target_model"], labels["model"], labels.get("step", ""))
            step = steps.setdefault(key, StepTimes(key[1], key[3] or key[2]))
            metric = sample.name.removesuffix("_total")  # which the parser adds to counters
            if metric in _REQUESTS:
                step.count += int(sample.value)
            elif metric in _DURATIONS:
                totals[key] = totals.get(key, 0.0) + sample.value
            elif metric in _SUMMARIES and labels.get("quantile") in _QUANTILES:
                name = _QUANTILES[labels["quantile"]]
                if sample.value == sample.value:  # not NaN: there were recent requests
                    setattr(step, name, max(getattr(step, name) or 0.0, sample.value / 1000))
    times: dict[str, list[StepTimes]] = {}
    for key, step in steps.items():
        if step.count:
            step.average = totals.get(key, 0.0) / step.count / 1000
            times.setdefault(key[0], []).append(step)
    return times


def _merged(sources: Sequence[Source], texts: Sequence[str], names: tuple[str, ...]) -> str:
    """Merge the metrics whose names begin with one of ``names``: of a hundred models, 10 000 lines."""
    families: _Families = {}
    for source, text in zip(sources, texts, strict=True):
        _merge(families, source, text, names)
    return "".join(f"{line}\n" for family in families.values() for line in family)


def _merge(families: _Families, source: Source, text: str, names: tuple[str, ...]) -> None:
    known: dict[str, tuple[str | None, str]] = {}  # a model has the same labels in many lines
    of: dict[str, dict[str, None] | None] = {}
    labels_of = _Labels(source)
    for line in text.splitlines():
        if line.startswith("# "):
            _, _, name, *_ = line.split(" ", 3)
            families.setdefault(name, {})[line] = None
        elif line.startswith(names):
            before, _, value = line.rpartition(" ")  # a label may have any character in it, but a value has none
            name, _, model_labels = before.partition("{")
            if name not in of:
                of[name] = _family(families, name)
            if model_labels not in known:
                known[model_labels] = labels_of(model_labels)
            family, (target, labels) = of[name], known[model_labels]
            if family is not None and (target or (target == "" and not name.startswith(_FUSED))):
                family[f"{name}{{{labels} {value}"] = None


def _family(families: _Families, name: str) -> dict[str, None] | None:
    """The lines of the metric that a sample with this name belongs to; None if it is not a name."""
    if not _NAME.fullmatch(name):
        return None
    return families.get(_SUFFIX.sub("", name)) or families.setdefault(name, {})


class _Labels:
    """Adds labels to those of the lines of an instance."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._loaded = frozenset(source.target_models.values())
        self._added = "".join(f'{name}="{escaped(value)}",' for name, value in source.labels.items())

    def __call__(self, model_labels: str) -> tuple[str | None, str]:
        """The target model of a line ("" for none, None for one that is not loaded), and all labels that it gets."""
        target = None if model_labels and model_labels[-1] != "}" else self._target_model(model_labels)
        added = f'{self._added}target_model="{escaped(target or "")}"'
        return target, f"{added},{model_labels}" if len(model_labels) > 1 else f"{added}}}"

    def _target_model(self, model_labels: str) -> str | None:
        if match := _NAMESPACE.search(model_labels):
            return self._source.target_models.get(match["hash"])
        match = _MODEL.search(model_labels)
        if match and self._source.single:
            return next(iter(self._source.target_models.values()), "")
        return match["name"] if match and match["name"] in self._loaded else ""


def escaped(value: str) -> str:
    """The value of a label."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
