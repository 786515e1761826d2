"""Random DAGs of Python steps, and random requests to them."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.files import write_files

STEP = Path(__file__).with_name("random_step.py")
TYPES = {
    "BOOL": np.bool_,
    **{f"{sign}INT{bits}": np.dtype(f"{sign}int{bits}".lower()) for sign in ("", "U") for bits in (8, 16, 32, 64)},
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
    "STRING": np.object_,
}
HABITS = "async", "metrics", "lazy", "logs", "overwrites", "adds", "fixed_bytes", "echoes", "strided", "views", "keeps"
FAILING = "raises", "exits", "divides", "refuses", "omits", "retypes", "reshapes", "expands"
"""At most one model of a DAG has one of these, and none that runs beside another: where a step fails while 24.10 starts
the next one, the server sometimes crashes, or answers nothing more over gRPC (the rule ensemble-branch of check).
Answers that are wrong whatever the DAG is are those of tests/testing/test_faults.py."""


@dataclass(frozen=True)
class Tensor:
    """A tensor of the ensemble. ``dims`` leave out the batch axis of the model that it comes from."""

    name: str
    type: str
    dims: tuple[int, ...]
    batched: bool
    optional: bool = False

    def entry(self, name: str, dims: tuple[int, ...] | None = None, extra: str = "") -> str:
        sizes = ", ".join(map(str, self.dims if dims is None else dims))
        return f'{{ name: "{name}" data_type: TYPE_{self.type} dims: [ {sizes} ] {extra} }}'


@dataclass
class Model:
    """A step's model: entries of its config, and what its model.py does beside answering."""

    name: str
    rows: int
    dynamic: bool
    inputs: dict[str, str]
    outputs: dict[str, str]
    habits: tuple[str, ...]
    version: int
    tensors: dict[str, Any] = field(default_factory=dict)  # what its callers know of it
    calls: dict[str, Any] = field(default_factory=dict)  # the tensors of the models that it calls, by name

    def config(self) -> str:
        return f"""name: "{self.name}" backend: "python" max_batch_size: {self.rows}
            input [ {", ".join(self.inputs.values())} ] output [ {", ".join(self.outputs.values())} ]
            {"dynamic_batching { }" if self.dynamic else ""} instance_group [ {{ count: 1 kind: KIND_CPU }} ]
            parameters {{ key: "habits" value {{ string_value: "{" ".join(self.habits)}" }} }}
            parameters {{ key: "calls" value {{ string_value: {json.dumps(json.dumps(self.calls))} }} }}
        """

    def files(self) -> dict[str, str]:
        """The files of its folder."""
        contents = {
            "model.py": STEP.read_text(),
            "helper.py": f'WORD = "{self.name}"\n\n\ndef divide(number):\n    return number // 0\n',
            "late.py": f'WORD = b"late {self.name}"\n',
        }
        return {"config.pbtxt": self.config()} | {f"{self.version}/{path}": text for path, text in contents.items()}

    def fail(self, habit: str) -> None:
        if habit == "exits":
            self.habits = tuple(each for each in self.habits if each != "async")  # 24.10 hangs
        self.habits += (habit,)


@dataclass
class Use:
    """A step of the DAG."""

    model: Model
    input_map: dict[str, str]
    output_map: dict[str, str]


@dataclass
class Dag:
    rows: int
    inputs: list[Tensor]
    outputs: list[Tensor]
    uses: list[Use]
    called: list[Model] = field(default_factory=list)
    requests: list["Request"] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """The ensemble's folder as people write it."""
        steps = ", ".join(
            f'{{ model_name: "{use.model.name}" model_version: -1 {_map("input", use.input_map)} '
            f"{_map('output', use.output_map)} }}"
            for use in self.uses
        )
        inputs = ", ".join(each.entry(each.name, extra="optional: true" * each.optional) for each in self.inputs)
        outputs = ", ".join(each.entry(each.name) for each in self.outputs)
        files = {
            "ensemble.toml": 'description = "A random DAG"\n',
            "ensemble/config.pbtxt": f'name: "ensemble"\nplatform: "ensemble"\nmax_batch_size: {self.rows}\n'
            f"input [ {inputs} ]\noutput [ {outputs} ]\nensemble_scheduling {{ step [ {steps} ] }}\n",
        }
        write_files(folder, files)
        for model in (*(use.model for use in self.uses), *self.called):
            write_files(folder / model.name, model.files())


@dataclass(frozen=True)
class Request:
    inputs: dict[str, NDArray[Any]]
    outputs: tuple[str, ...]
    id: str
    sequence: int | str
    parameters: dict[str, Any]
    timeout: int | None


def _map(kind: str, names: dict[str, str]) -> str:
    return " ".join(f'{kind}_map {{ key: "{key}" value: "{value}" }}' for key, value in names.items())


def random_dags(count: int, number: int) -> list[Dag]:
    """``count`` DAGs, in which each kind of failure has its turn; the same ``number`` gives the same ones."""
    return [_dag(Random(f"{number} {index}"), FAILING[index % len(FAILING)]) for index in range(count)]


def _dag(chance: Random, failing: str) -> Dag:
    rows = chance.choice([0, 2, 4, 4])
    inputs = [
        Tensor(f"in{number}", _type(chance), _dims(chance), rows > 0, number > 0 and _one_in(2, chance))
        for number in range(chance.randint(1, 3))
    ]
    tensors: list[Tensor] = list(inputs)
    uses: list[Use] = []
    for number in range(chance.randint(1, 4)):
        if uses and _one_in(6, chance):
            use, made = _again(chance.choice(uses), number, tensors)
        else:
            use, made = _use(chance, number, rows, tensors)
        uses.append(use)
        tensors += made
    read = {name for use in uses for name in use.input_map.values()}
    inputs = [each for each in inputs if each.name in read]
    if all(each.optional for each in inputs):  # 24.10 has no requests without inputs to models that batch
        inputs[0] = replace(inputs[0], optional=False)
    written = [each for each in tensors if each.name.startswith("t")]
    last = [each for each in written if each.name not in read]
    outputs = last + [each for each in written if each not in last and _one_in(4, chance)]
    alone = _alone(uses)
    if alone:
        chance.choice(alone).model.fail(failing)
    dag = Dag(rows, inputs, outputs, chance.sample(uses, len(uses)), _called_by(alone, chance))
    dag.requests = [random_request(dag, chance) for _ in range(6)]
    return dag


def _one_in(times: int, chance: Random) -> bool:
    return chance.randrange(times) == 0


def _type(chance: Random) -> str:
    return chance.choice(["STRING", "FP32", *TYPES])


def _dims(chance: Random) -> tuple[int, ...]:
    return tuple(-1 if _one_in(2, chance) else chance.randint(1, 3) for _ in range(chance.randint(1, 2)))


def _alone(uses: list[Use]) -> list[Use]:
    """Those of which each other one waits for them, or they for it."""
    return [
        use for use in uses if all(use is each or _waits(use, each, uses) or _waits(each, use, uses) for each in uses)
    ]


def _waits(later: Use, earlier: Use, uses: list[Use]) -> bool:
    """Whether there is a path of tensors from ``earlier`` to ``later``."""
    written = set(earlier.output_map.values())
    for use in uses[uses.index(earlier) + 1 :]:  # they are made in an order in which they can run
        if written.intersection(use.input_map.values()):
            written.update(use.output_map.values())
            if use is later:
                return True
    return False


def _use(chance: Random, number: int, rows: int, tensors: list[Tensor]) -> tuple[Use, list[Tensor]]:
    own_rows = chance.choice([rows, rows, rows, 0, 4, 8])
    # 24.10 has no requests without inputs to models that batch, so that the first one is there.
    chosen = [chance.choice([each for each in tensors if not each.optional])]
    chosen += chance.choices(tensors, k=chance.randint(0, 2))
    inputs, input_map = {}, {}
    for index, tensor in enumerate(chosen):
        name = f"X{index}"
        dims = tensor.dims
        if _one_in(2, chance):
            dims = tuple(-1 if _one_in(2, chance) else size for size in dims)
        if tensor.batched and not own_rows and not _one_in(3, chance):
            dims = (-1, *dims)
        elif own_rows and not tensor.batched and len(dims) > 1 and dims[0] == -1 and _one_in(2, chance):
            dims = dims[1:]
        extra = "optional: true" if index and (tensor.optional or _one_in(5, chance)) else ""
        if own_rows and -1 in dims and _one_in(2, chance):
            extra += " allow_ragged_batch: true"
        elif -1 not in dims and _one_in(3, chance):
            extra += f" reshape {{ shape: [ {', '.join(map(str, [1, *dims]))} ] }}"
        inputs[name] = tensor.entry(name, dims, extra)
        input_map[name] = tensor.name
    made = [
        Tensor(f"t{number}_{index}", _type(chance), _dims(chance), own_rows > 0)
        for index in range(chance.randint(1, 2))
    ]
    outputs, output_map = {}, {}
    for index, tensor in enumerate(made):
        name = "Y" * (index + 1)
        reshape = [*tensor.dims[::-1]] if -1 not in tensor.dims and _one_in(4, chance) else None
        outputs[name] = tensor.entry(name, extra=f"reshape {{ shape: {reshape} }}" if reshape else "")
        output_map[name] = tensor.name
    if len(made) == 2 and _one_in(4, chance):
        made.pop()
        output_map.popitem()  # an output that nobody reads
    habits = tuple(chance.sample(HABITS, chance.randint(0, 2)))
    dynamic = own_rows > 0 and _one_in(2, chance)
    model = Model(f"m{number}", own_rows, dynamic, inputs, outputs, habits, chance.choice([1, 1, 3]))
    return Use(model, input_map, output_map), made


def _again(use: Use, number: int, tensors: list[Tensor]) -> tuple[Use, list[Tensor]]:
    """The same model as a further step of the DAG, for the same inputs."""
    kinds = {tensor.name: tensor for tensor in tensors}
    output_map = {name: f"t{number}_{index}" for index, name in enumerate(use.output_map)}
    made = [replace(kinds[old], name=output_map[name]) for name, old in use.output_map.items()]
    return Use(use.model, dict(use.input_map), output_map), made


def _called_by(uses: list[Use], chance: Random) -> list[Model]:
    """Models that are no steps, which these steps call, and each other."""
    callers = list({id(use.model): use.model for use in uses}.values())
    called = []
    for number in reversed(range(chance.randint(1, 2))):
        callee = _called_model(number, chance)
        for caller in callers:
            if not _one_in(5, chance):
                caller.calls[callee.name] = callee.tensors
        callers.append(callee)
        called.append(callee)
    return called


def _called_model(number: int, chance: Random) -> Model:
    rows = chance.choice([0, 4])
    names = ["X0", "X1", "Y0", "Y1"][chance.randint(0, 1) : chance.randint(3, 4)]
    sizes = [(1,), (-1,), (2,), (2, -1), (-1, 3)]
    tensors = [Tensor(name, chance.choice(list(TYPES)), chance.choice(sizes), rows > 0) for name in names]
    inputs, outputs = ([tensor for tensor in tensors if tensor.name[0] == kind] for kind in "XY")
    habits = chance.sample([*HABITS, "awaits", "refuses", "raises", "omits"], 2)
    entries = [{tensor.name: tensor.entry(tensor.name) for tensor in kind} for kind in (inputs, outputs)]
    model = Model(f"c{number}", rows, rows > 0 and _one_in(2, chance), entries[0], entries[1], tuple(habits), 1)
    plain = [[(tensor.name, tensor.type, tensor.dims) for tensor in kind] for kind in (inputs, outputs)]
    model.tensors = {"rows": rows, "X": plain[0], "Y": plain[1]}
    return model


def random_request(dag: Dag, chance: Random) -> Request:
    rows = chance.randint(1, 5 if _one_in(5, chance) else max(dag.rows, 1))
    inputs = {}
    for tensor in dag.inputs:
        if tensor.optional and _one_in(2, chance):
            continue
        shape = [chance.randint(not axis, 3) if size == -1 else size for axis, size in enumerate(tensor.dims)]
        inputs[tensor.name] = _array(tensor.type, [rows, *shape] if dag.rows else shape, chance)
    names = [tensor.name for tensor in dag.outputs]
    wanted = names if _one_in(2, chance) else chance.sample(names, chance.randint(1, len(names)))
    return Request(
        inputs,
        tuple(wanted),
        chance.choice(["", "one", "ü 2"]),
        chance.choice([0, 0, 7, "text"]),
        chance.choice([{}, {"a": 1, "b": "ü", "c": True}]),
        chance.choice([None, 600_000_000]),
    )


def _array(type_name: str, shape: list[int], chance: Random) -> NDArray[Any]:
    count = int(np.prod(shape))
    if type_name == "STRING":
        texts = [b"", b"text", b"\xff\x00", "grüße".encode(), b"a" * 1000]
        return np.array([*chance.choices(texts, k=count), None], np.object_)[:-1].reshape(shape)
    if type_name == "BOOL":
        return np.array(chance.choices([False, True], k=count), np.bool_).reshape(shape)
    dtype = np.dtype(TYPES[type_name])
    return np.frombuffer(chance.randbytes(count * dtype.itemsize), dtype).reshape(shape)
