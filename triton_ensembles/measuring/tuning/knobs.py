"""The settings of one ensemble that a search may change, and the values that are worth trying on this machine.

They follow from the ensemble: its steps, their backends and their files. What each key means:

    engine                "onnxruntime fp32": the backend and the precision of a step, [engines.STEP] in the recipe
    instances             [engines.STEP] instances, or the count of instance_group in config.pbtxt
    threads               of each instance: the parameter of its backend; 0 leaves it to the backend
    INFERENCE_MODE …      "true" or "false": the switches of PyTorch that matter on the CPU (pytorch/parameters.py)
    queue_delay_us        max_queue_delay_microseconds; None is a step without dynamic_batching
    max_batch_size        of a step, never less than the ensemble's
"""

from collections.abc import Iterator

from triton_ensembles.building.planned.model_selection import written_backend
from triton_ensembles.building.planned.plan import BuildPlan, read_models
from triton_ensembles.measuring.tuning.space import Setting, Value
from triton_ensembles.project.recipe.schema import Recipe
from triton_ensembles.runtime.backends.pytorch.parameters import PARAMETERS, SWITCHES
from triton_ensembles.triton.model_config import ModelInstanceGroup

THREADS = {
    "onnxruntime": "intra_op_thread_count",
    "openvino": "INFERENCE_NUM_THREADS",
    "tensorflow": "TF_NUM_INTRA_THREADS",
    "pytorch": "INTRA_OP_THREAD_COUNT",
    "dali": "num_threads",
}
"""The parameter with the number of threads, by backend."""

_ENGINES = ("onnxruntime", "openvino", "tensorflow")
_COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # of instances or threads
_DELAYS_US = (0, 100, 250, 500, 1000, 2000, 5000, 10000)
_MOST_DELAY = 0.5  # of the bound of the latency


class Knobs:
    """The settings of the ensemble that ``plan`` builds, for a machine with this many cores.

    Args:
        p99_ms: the bound of the latency, if there is one.
        lower_precision: whether bf16 may be tried: there are requests whose answers can be compared.

    Attributes:
        settings: in the order in which they are tried.
        notes: what is left as it is, with the reason.
    """

    def __init__(self, plan: BuildPlan, cores: int, p99_ms: float | None, *, lower_precision: bool) -> None:
        self._plan, self._cores, self._lower_precision = plan, cores, lower_precision
        self._written = read_models(plan.folder)
        self._ensemble = plan.ensemble
        steps = [step for step in self._written if step != self._ensemble]
        # Those with an engine take most of the time.
        self._steps = sorted(steps, key=lambda step: (step not in plan.selected, step))
        longest = None if p99_ms is None else p99_ms * 1000 * _MOST_DELAY
        self._delays = tuple(delay for delay in _DELAYS_US if longest is None or delay <= longest)
        self.notes: list[str] = []
        self.settings = tuple(setting for setting in self._every() if len(setting.values) > 1)

    def _every(self) -> list[Setting]:
        settings = [
            *(setting for step in self._steps for setting in self._engine(step)),
            *self._carried(self._instances(), "instances"),
            *(setting for step in self._steps for setting in (*self._threads(step), *self._switches(step))),
            *self._carried(self._delay(), "queue_delay_us"),
        ]
        if not self._plan.target.fuses:
            settings += [setting for step in self._steps for setting in self._rows(step)]
        return settings

    def _carried(self, settings: Iterator[Setting], key: str) -> list[Setting]:
        """A fused ensemble has as many instances, and as long a delay, as the step with most: one setting for all."""
        by_step = list(settings)
        if not self._plan.target.fuses or not by_step:
            return by_step
        first = max(by_step, key=lambda setting: _number(setting.present))
        least = max((_number(setting.present) for setting in by_step if setting is not first), default=0)
        values = tuple(value for value in first.values if _number(value) >= least)
        if len(by_step) > 1:
            self.notes.append(f"{key}: the fused model has the most of its steps; {first.step} sets it for all")
        return [Setting(first.step, key, values, first.present)]

    def _engine(self, step: str) -> Iterator[Setting]:
        selected, recipe = self._plan.selected.get(step), self._plan.recipe
        if selected is None or not self._plan.target.chooses_engines or selected.backend not in _ENGINES:
            return
        engine = recipe.engines.get(step)
        present = f"{selected.backend} {engine.precision if engine else 'fp32'}"
        values = [
            f"{backend} {precision}"
            for backend in _ENGINES
            for precision in ("fp32", "bf16", "int8")
            if self._can_run(recipe, step, backend, precision)
        ]
        if not any(self._groups(step)):
            self.notes.append(f"{step}: its engine is not tried, because its config.pbtxt has no instance_group")
            return
        yield Setting(step, "engine", tuple(dict.fromkeys([present, *values])), present, scale=False)

    def _can_run(self, recipe: Recipe, step: str, backend: str, precision: str) -> bool:
        model = recipe.model_for(step, backend, precision)
        if model is None or backend not in self._plan.target.backends:
            return False
        return precision == "fp32" or bool(backend == "openvino" and model.accuracy and self._lower_precision)

    def _groups(self, step: str) -> list[ModelInstanceGroup]:
        return list(self._written[step].instance_group)

    def _instances(self) -> Iterator[Setting]:
        for step in self._steps:
            groups, present = self._groups(step), sum(group.count for group in self._plan.configs[step].instance_group)
            selected = self._plan.selected.get(step)
            from_recipe = selected is not None and step in self._plan.recipe.engines
            if not from_recipe and any(group.kind == ModelInstanceGroup.KIND_GPU for group in groups):
                self.notes.append(f"{step}: its instances are those of the gpu target (KIND_GPU), and are not tried")
                continue
            if len(groups) > 1 or (from_recipe and not groups):
                self.notes.append(f"{step}: its instances are not tried: it has {len(groups)} groups of them")
                continue
            counts: set[Value] = {count for count in _COUNTS if count <= self._cores}
            yield Setting(step, "instances", _scale({*counts, present or 1}), present or 1)

    def _threads(self, step: str) -> Iterator[Setting]:
        backend = written_backend(self._plan.configs[step])
        if (key := THREADS.get(backend)) is None:
            return
        parameters = self._plan.configs[step].parameters
        text = parameters[key].string_value if key in parameters else "0"
        if not text.isdecimal():
            return
        counts: set[Value] = {count for count in _COUNTS if count <= self._cores}
        least: set[Value] = set() if backend == "dali" and int(text) else {0}
        yield Setting(step, "threads", _scale({*counts, *least, int(text)}), int(text))

    def _switches(self, step: str) -> Iterator[Setting]:
        config = self._plan.configs[step]
        for key in SWITCHES if written_backend(config) == "pytorch" and self._plan.target.chooses_engines else ():
            text = config.parameters[key].string_value if key in config.parameters else str(PARAMETERS[key].default)
            present = "true" if text.lower() in ("true", "1") else "false"
            yield Setting(step, key, ("true", "false"), present, scale=False)

    def _delay(self) -> Iterator[Setting]:
        for step in self._steps:
            config = self._plan.configs[step]
            batches = config.HasField("dynamic_batching")
            if not config.max_batch_size or (not batches and config.WhichOneof("scheduling_choice")):
                continue
            present = config.dynamic_batching.max_queue_delay_microseconds if batches else None
            if self._plan.target.fuses and not batches:
                continue  # it would change the runs of the step, which are as in the drawn form
            values: set[Value] = {*self._delays, *([present] if batches else [])}
            yield Setting(step, "queue_delay_us", (*([] if batches else [None]), *_scale(values)), present)

    def _rows(self, step: str) -> Iterator[Setting]:
        """More rows than the ensemble takes let the step join several requests of that size."""
        least, present = self._plan.configs[self._ensemble].max_batch_size, self._plan.configs[step].max_batch_size
        if not present or not least or not self._plan.configs[step].HasField("dynamic_batching"):
            return
        if any(model.path.endswith(".plan") for model in self._plan.recipe.models_of(step)):
            self.notes.append(f"{step}: its max_batch_size stays, because the profiles of its TensorRT plan end there")
            return
        values: set[Value] = {least, present}
        if written_backend(self._plan.configs[step]) != "dali":  # whose batches of decoded images are large
            values.add(2 * present)
        yield Setting(step, "max_batch_size", _scale({value for value in values if _number(value) >= least}), present)


def _scale(values: set[Value]) -> tuple[Value, ...]:
    return tuple(sorted(values, key=_number))


def _number(value: Value) -> int:
    return int(value or 0)
