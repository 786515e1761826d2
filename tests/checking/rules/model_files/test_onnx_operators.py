"""Operators and versions of ONNX files, with the real server as the judge of what does not depend on an image."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import TensorProto, helper

from tests.checking.packing import faults
from tests.checking.served import server_results
from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage

ABOUT = {"onnx-operator-unknown", "onnx-opset-image"}
VALUES = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "XY"]
TWICE = helper.make_function(
    "mine", "Twice", ["X"], ["Y"], [helper.make_node("Add", ["X", "X"], ["Y"])], [helper.make_opsetid("", 17)]
)


def network(
    operator: str, domain: str = "", opset: int = 17, ir: int = 8, defines: bool = False, **others: int
) -> bytes:
    graph = helper.make_graph([helper.make_node(operator, ["X"], ["Y"], domain=domain)], "g", VALUES[:1], VALUES[1:])
    opsets = {"": opset, **({domain: 1} if domain else {}), **{name.replace("_", "."): n for name, n in others.items()}}
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid(name, number) for name, number in opsets.items()],
        ir_version=ir,
        functions=[TWICE] if defines else [],
    )
    return bytes(model.SerializeToString())


def branched(operator: str, deeper: bool = False) -> bytes:
    """The operator stands in a branch of an If, or in an If in that branch."""
    condition = helper.make_tensor("C", TensorProto.BOOL, [], [True])

    def choice(inner: helper.NodeProto) -> helper.NodeProto:
        nodes = (inner, helper.make_node("Relu", ["X"], ["Y"]))
        then, otherwise = (helper.make_graph([node], "b", [], VALUES[1:]) for node in nodes)
        return helper.make_node("If", ["C"], ["Y"], then_branch=then, else_branch=otherwise)

    node = helper.make_node(operator, ["X"], ["Y"])
    graph = helper.make_graph([choice(choice(node) if deeper else node)], "g", VALUES[:1], VALUES[1:], [condition])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def example(file: bytes, extra: str = "") -> Example:
    config = python_model(extra, backend='backend: "onnxruntime"')
    return Example(config, {"1/model.onnx": file.decode("utf-8", "surrogateescape")})


OPERATORS = {
    "plain": (network("Relu"), True),
    "misspelt": (network("ReLU"), False),
    "of-a-later-opset": (network("Gelu"), False),
    "of-its-opset": (network("Gelu", opset=20, ir=9), True),
    "taken-away": (network("Upsample", opset=11), False),
    "of-a-library": (network("Decode", "com.example"), False),
    "of-extensions": (network("BertTokenizer", "ai.onnx.contrib"), False),
    "of-onnx-runtime": (network("Gelu", "com.microsoft"), True),
    "of-the-file-itself": (network("Twice", "mine", defines=True), True),
    "in-a-branch": (branched("ReLU"), False),
    "in-a-branch-of-a-branch": (branched("Gelu", deeper=True), False),
    "right-in-a-branch": (branched("Relu", deeper=True), True),
    "imported-only": (network("Relu", com_example=3), True),
}


@pytest.mark.verdicts
def test_the_server_agrees_on_operators(tmp_path: Path) -> None:
    """Otherwise a file that ONNX Runtime refuses is deployed, or one that it loads is refused."""
    results = server_results({name: example(file) for name, (file, _) in OPERATORS.items()}, tmp_path)
    refused = {name for name, (_, loads) in OPERATORS.items() if not loads}
    assert {name for name, result in results.items() if not result.loaded} == refused
    assert {each.place.path.split("/")[-3] for each in faults(tmp_path / "models") if each.rule in ABOUT} == refused


def test_a_library_may_have_any_operator(tmp_path: Path) -> None:
    """Otherwise models with custom operators are refused."""
    library = 'model_operations { op_library_filename: "libdecode.so" }'
    stage(example(network("Decode", "com.example"), library), tmp_path, "m")
    assert not {each.rule for each in faults(tmp_path)} & ABOUT


@pytest.mark.parametrize(
    ("image", "file", "words"),
    [
        ("24.09", network("Relu", opset=21, ir=10), ""),
        ("24.09", network("Relu", opset=22, ir=10), "opset 22"),
        ("24.09", network("Relu", opset=21, ir=11), "IR version 11"),
        ("23.10", network("Relu", ai_onnx_ml=4), "opset of ai.onnx.ml 4"),
        ("22.08", network("Relu", opset=18, ir=8), "opset 18"),
        ("", network("Relu", opset=99, ir=99), ""),
    ],
)
def test_the_image_reads_the_file(image: str, file: bytes, words: str, tmp_path: Path) -> None:
    """Otherwise an export by a newer PyTorch fails in the image, after the upload."""
    stage(example(file), tmp_path, "m")
    found = [each for each in faults(tmp_path, image=image) if each.rule == "onnx-opset-image"]
    assert [words in each.message for each in found] == ([True] if words else []), found
