"""Operators and versions of ONNX files, with the real server as the judge of what does not depend on an image."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import TensorProto, helper

from tests.checking.packing import faults
from tests.checking.served import ModelLoader
from triton_ensembles.checking.examples import python_model

ABOUT = {"onnx-operator-unknown", "onnx-opset-image"}
TWICE = helper.make_function(
    "mine", "Twice", ["X"], ["Y"], [helper.make_node("Add", ["X", "X"], ["Y"])], [helper.make_opsetid("", 17)]
)


def network(
    operator: str, domain: str = "", opset: int = 17, ir: int = 8, defines: bool = False, **others: int
) -> bytes:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "XY"]
    graph = helper.make_graph([helper.make_node(operator, ["X"], ["Y"], domain=domain)], "g", values[:1], values[1:])
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
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "XY"]
    condition = helper.make_tensor("C", TensorProto.BOOL, [], [True])

    def choice(inner: helper.NodeProto) -> helper.NodeProto:
        branches = [
            helper.make_graph([node], "b", [], values[1:]) for node in (inner, helper.make_node("Relu", ["X"], ["Y"]))
        ]
        return helper.make_node("If", ["C"], ["Y"], then_branch=branches[0], else_branch=branches[1])

    node = helper.make_node(operator, ["X"], ["Y"])
    graph = helper.make_graph([choice(choice(node) if deeper else node)], "g", values[:1], values[1:], [condition])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def stage(folder: Path, name: str, file: bytes, extra: str = "") -> None:
    (folder / name / "1").mkdir(parents=True)
    (folder / name / "1/model.onnx").write_bytes(file)
    (folder / name / "config.pbtxt").write_text(python_model(extra, backend='backend: "onnxruntime"'))


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
    models = tmp_path / "models"
    for name, (file, _) in OPERATORS.items():
        stage(models, name, file)
    found = {each.place.path.split("/")[-3] for each in faults(models) if each.rule in ABOUT}
    assert found == {name for name, (_, loads) in OPERATORS.items() if not loads}
    with ModelLoader(models, tmp_path) as server:
        results = server.load_all(list(OPERATORS))
    assert {name for name, result in results.items() if not result.loaded} == found


def test_a_library_may_have_any_operator(tmp_path: Path) -> None:
    """Otherwise models with custom operators are refused."""
    stage(tmp_path, "m", network("Decode", "com.example"), 'model_operations { op_library_filename: "libdecode.so" }')
    assert not {each.rule for each in faults(tmp_path)} & ABOUT


@pytest.mark.parametrize(
    ("image", "file", "words"),
    [
        ("24.09", network("Relu", opset=21, ir=10), ""),
        ("24.09", network("Relu", opset=22, ir=10), "opset 22"),
        ("24.09", network("Relu", opset=21, ir=11), "IR version 11"),
        ("25.09-py3", network("Relu", opset=23, ir=11), ""),
        ("26.03", network("Relu", opset=25, ir=13), ""),
        ("26.03", network("Relu", opset=26, ir=13), "opset 26"),
        ("23.10", network("Relu", ai_onnx_ml=4), "opset of ai.onnx.ml 4"),
        ("22.08", network("Relu", opset=17, ir=8), ""),
        ("22.08", network("Relu", opset=18, ir=8), "opset 18"),
        ("23.03", network("Relu", opset=18, ir=9), "IR version 9"),
        ("", network("Relu", opset=99, ir=99), ""),
    ],
)
def test_the_image_reads_the_file(image: str, file: bytes, words: str, tmp_path: Path) -> None:
    """Otherwise an export by a newer PyTorch fails in the image, after the upload."""
    stage(tmp_path, "m", file)
    found = [each for each in faults(tmp_path, image=image) if each.rule == "onnx-opset-image"]
    assert [words in each.message for each in found] == ([True] if words else []), found
