"""Parts of the tables of cases that are no plain text, as tags of YAML.

A binary file is a text, in which "\\udce9" stands for the byte E9. A mapping is what is in a folder, or in an archive
where its path ends in .tar.gz.
"""

import gzip
import io
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from onnx import TensorProto, helper, numpy_helper

from tests.checking.packing import MODEL_PY, Content, ensemble_of, members, packed, python_step
from triton_ensembles.checking import examples
from triton_ensembles.checking.fault import Fault
from triton_ensembles.checking.registry import RULES_BY_ID

GONE = object()  # a member that this case does not have
SHARED: dict[str, str] = yaml.safe_load(Path(__file__).with_name("shared.yaml").read_text())


class Loader(yaml.SafeLoader):
    """YAML with the tags below."""


def read_table(path: Path, keys: set[str], given: set[str], said: set[str], more: set[str]) -> dict[str, Any]:
    """A table, whose cases are all mappings with a list ``says``.

    Args:
        keys: of the table, beside those that any has.
        given: the keys of a case that make it a mapping.
        said: those that are about what the rule says that the table is called after; ``more`` are not.
    """
    table: dict[str, Any] = yaml.load(path.read_text(), Loader)
    assert set(table) <= keys | {"parts", "rules", "to", "server", "cases"}, path
    assert set(table.get("rules", ())) <= RULES_BY_ID.keys(), path
    cases = {}
    for name, written in table["cases"].items():
        case = written if isinstance(written, dict) and set(written) & given else {"given": written}
        about = said | {"severity", "message", "cure"}
        assert set(case) <= given | about | more | {"says", "to"}, (path, name)
        says = case.get("says", path.stem if about & set(case) else [])
        cases[str(name)] = {**case, "says": says if isinstance(says, list) else [says]}  # 3.11 is a number
    return table | {"cases": cases}


def assert_said(case: dict[str, Any], found: list[Fault], name: str) -> None:
    """The case says all that is found, each by its rule and as much of its place as it likes."""
    places = {id(fault): f"{fault.rule}:{fault.place.line}:{fault.place.column}:" for fault in found}
    rest, said = list(found), []
    for each in case["says"]:
        said += [fault for fault in rest if places[id(fault)].startswith(f"{each}:")][:1]
        rest = [fault for fault in rest if fault not in said]
    assert not rest and len(said) == len(case["says"]), (name, list(places.values()))
    assert {rule.partition(":")[0] for rule in case["says"]} <= RULES_BY_ID.keys(), name
    for key in {"severity", "message", "effect", "cure"} & set(case):
        assert case[key] in str(getattr(said[0], key)), (name, key, found)
    assert str(said[0].place if said else "").endswith(case.get("place", "")), (name, found)


def _tag(name: str, make: Callable[[Any], Any]) -> None:
    def construct(loader: Loader, node: yaml.Node) -> Any:
        if isinstance(node, yaml.MappingNode):
            return make(loader.construct_mapping(node, deep=True))
        if isinstance(node, yaml.SequenceNode):
            return make(loader.construct_sequence(node, deep=True))
        return make(loader.construct_scalar(node))

    Loader.add_constructor(f"!{name}", construct)


def flat(files: Mapping[str, Any], below: str = "") -> Iterator[tuple[str, Any]]:
    """Path and content of each file; ``a.tar.gz!b`` is in the archive ``a.tar.gz``."""
    for name, content in files.items():
        path = f"{below}{name}"
        if not isinstance(content, Mapping):
            yield path, content
        elif path.endswith(".tar.gz"):
            yield path, _packed(content)
        else:
            yield from flat(content, path if path.endswith("!") or not path else f"{path}/")


def _packed(files: Mapping[str, Any]) -> str:
    return as_text(packed({path: member(path, part) for path, part in flat(files)}))


def member(path: str, part: Any) -> Content:
    """A file of an archive as packing.py takes it."""
    if not isinstance(part, tuple):
        return part  # type: ignore[no-any-return]
    item = tarfile.TarInfo(path)
    item.type, item.linkname = part
    return item


def as_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _ensemble(of: str | dict[str, str]) -> dict[str, Any]:
    """``name``, or a mapping with the ``name`` of the ensemble, of its only ``step``, and its ``environment``."""
    about = of if isinstance(of, dict) else {"name": of}
    name, environment = about["name"], about.get("environment", "")
    made = members(name, environment)
    if step := about.get("step"):
        made = {path.replace(f"{name}.step", step): content for path, content in made.items()}
        made[f"{name}/config.pbtxt"] = ensemble_of(step)
    return made


def _environment(about: dict[str, Any]) -> dict[str, Any]:
    """What the rules look at in an environment of this ``python`` as conda-pack leaves it, its further ``files``, and
    those in its ``site``-packages."""
    library = f"lib/python{about.get('python', '3.10')}"
    return {
        "bin/activate": "export PATH",
        f"{library}/os.py": "",
        f"{library}/json/__init__.py": "",
        f"{library}/site-packages/numpy/__init__.py": "",
        f"{library}/site-packages/numpy-1.26.4.dist-info/METADATA": "Name: numpy",
        f"{library}/site-packages/numpy-1.26.4.dist-info/WHEEL": "Tag: cp311-cp311-manylinux_2_17_x86_64\n",
        **dict(flat(about.get("files", {}))),
        **{f"{library}/site-packages/{path}": content for path, content in flat(about.get("site", {}))},
    }


def torchscript(source: str) -> str:
    import torch

    module, stream = type("Given", (torch.jit.ScriptModule,), {})(), io.BytesIO()  # a class can be given one forward()
    module.define(f"{source}\n")
    torch.jit.save(module, stream)
    return as_text(stream.getvalue())


def _weights(count: str) -> str:
    """What torch.save writes of a layer."""
    import torch

    stream = io.BytesIO()
    torch.save(torch.nn.Linear(int(count), 1).state_dict(), stream)
    return as_text(stream.getvalue())


def _onnx(about: dict[str, Any]) -> str:
    """A network of one node, X -> Y. W is an initializer, which a request may not name as an input.

    ``operator``, ``domain``, ``opset`` and ``ir`` are as in ONNX, ``opsets`` of further domains; ``type`` and ``dims``
    are those of X and Y; ``branches`` says in how many nested If the node stands, ``besides`` which operator makes a
    further output P of X. The model defines mine:Twice.
    """
    kind, dims = TensorProto.DataType.Value(about.get("type", "FLOAT")), about.get("dims", ["n", 4])
    x, y = (helper.make_tensor_value_info(name, kind, dims) for name in "XY")
    domain, opset = about.get("domain", ""), helper.make_opsetid("", about.get("opset", 17))
    node = helper.make_node(about.get("operator", "Identity"), ["X"], ["Y"], domain=domain)
    for _ in range(about.get("branches", 0)):
        both = [helper.make_graph([one], "b", [], [y]) for one in (node, helper.make_node("Relu", ["X"], ["Y"]))]
        node = helper.make_node("If", ["C"], ["Y"], then_branch=both[0], else_branch=both[1])
    weights = [numpy_helper.from_array(np.zeros(4, np.float32), "W"), helper.make_tensor("C", 9, [], [True])]
    others = about.get("opsets", {}) | ({domain: 1} if domain else {})
    twice = helper.make_function("mine", "Twice", ["X"], ["Y"], [helper.make_node("Add", ["X", "X"], ["Y"])], [opset])
    nodes, outputs = [node], [y]
    if besides := about.get("besides"):
        make = helper.make_sequence_type_proto if "Sequence" in besides else helper.make_optional_type_proto
        nodes.append(helper.make_node(besides, ["X"], ["P"]))
        outputs.append(helper.make_value_info("P", make(x.type)))
    model = helper.make_model(
        helper.make_graph(nodes, "g", [x], outputs, weights),
        opset_imports=[opset, *(helper.make_opsetid(*item) for item in others.items())],
        ir_version=about.get("ir", 8),
        functions=[twice] if domain == "mine" else [],
    )
    for key, value in about.get("metadata", {}).items():
        model.metadata_props.add(key=key, value=value)
    return as_text(model.SerializeToString())


def graphdef(dims: Iterable[int]) -> str:
    """A frozen TensorFlow graph with the placeholder X of this shape, and the node Y."""
    sizes = b"".join(b"\x12" + _field(b"\x08" + varint(size % 2**64)) for size in dims)
    shape = b"\x0a\x05shape\x12" + _field(b"\x3a" + _field(sizes))
    node = b"\x0a\x01X\x12\x0bPlaceholder\x2a\x0b\x0a\x05dtype\x12\x02\x30\x01\x2a" + _field(shape)
    rest = examples.GRAPH_IDENTITY[examples.GRAPH_IDENTITY.index("\n\x19\n\x01Y") :]
    return as_text(b"\x0a" + _field(node)) + rest


def saved_model(about: dict[str, Any]) -> str:
    """A SavedModel that multiplies by a variable: ``dims`` of x and y, ``dtype`` of x, ``tag`` and ``operator`` of its
    graph."""
    sizes = b"".join(_part(2, b"\x08" + varint(size % 2**64)) for size in about.get("dims", [-1, 4]))
    sides = b""
    for number, name, dtype in ((1, b"x", about.get("dtype", 1)), (2, b"y", 1)):
        info = b"\x10" + varint(dtype) + _part(3, sizes)
        sides += _part(number, _part(1, name) + _part(2, info))
    tags = _part(1, _part(4, about.get("tag", "serve").encode()))
    graph = _part(2, _part(1, _part(2, about.get("operator", "VarHandleOp").encode())))
    signature = _part(5, _part(1, b"serving_default") + _part(2, sides))
    return as_text(b"\x08\x01" + _part(2, tags + graph + signature))


def _part(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + _field(value)


def _field(value: bytes) -> bytes:
    return varint(len(value)) + value


def varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


_tag("gone", lambda _: GONE)
_tag("link", lambda target: (tarfile.SYMTYPE, target))
_tag("hardlink", lambda target: (tarfile.LNKTYPE, target))
_tag("pipe", lambda _: (tarfile.FIFOTYPE, ""))
_tag("device", lambda _: (tarfile.CHRTYPE, ""))
_tag("ensemble", _ensemble)
_tag("model", lambda more: {"config.pbtxt": python_step() + more, "1/model.py": MODEL_PY})
_tag("environment", _environment)
_tag("example", lambda name: getattr(examples, name))
_tag("shared", SHARED.__getitem__)
_tag("torchscript", torchscript)
_tag("weights", _weights)
_tag("onnx", _onnx)
_tag("graphdef", graphdef)
_tag("savedmodel", saved_model)
_tag("brackets", lambda count: "[" * int(count))
_tag("zeros", lambda count: "\0" * int(count))
_tag("first", lambda pair: pair[1].encode("utf-8", "surrogateescape")[: pair[0]].decode("utf-8", "surrogateescape"))
_tag("packed", _packed)
_tag("uncompressed", lambda files: as_text(gzip.decompress(_packed(files).encode("utf-8", "surrogateescape"))))
