"""The DAG of an ensemble as values, mermaid and picture."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from PIL import Image

from checkout import ENSEMBLES
from triton_ensembles.check.examples import ensemble, step
from triton_ensembles.check.rule import Example
from triton_ensembles.check.staging_example import stage
from triton_ensembles.commands.graph import graph as graph_command
from triton_ensembles.commands.graph import read_graph
from triton_ensembles.errors import EnsembleError
from triton_ensembles.graph.dag import Graph, Tensor, graph_of, ranks
from triton_ensembles.graph.layout import layout
from triton_ensembles.graph.mermaid import mermaid
from triton_ensembles.graph.picture import picture
from triton_ensembles.triton.model_config import parse_config


@pytest.fixture(scope="module")
def bert() -> Graph:
    return read_graph("bert_trt", ENSEMBLES)


def test_the_tensors_have_types_and_shapes(bert: Graph) -> None:
    """Otherwise the drawing does not match the configs."""
    assert bert.tensor("INPUT0") == Tensor("INPUT0", "STRING", (1,), 64, "input")
    assert bert.tensor("token_ids").shape == "INT32 [≤64, -1]"
    assert bert.tensor("finaloutput").role == "output"
    assert [step.model for step in bert.steps] == ["preprocess", "bert-trt", "postprocess"]
    assert {edge.step for edge in bert.readers("attn_mask")} == {1, 2}


def test_mermaid_names_every_step_and_edge(bert: Graph) -> None:
    """Otherwise a README shows a DAG with something missing."""
    text = mermaid(bert)
    assert text.startswith("flowchart LR\n")
    assert 's0["preprocess<br/>python"]' in text
    assert 's0 -->|"OUTPUT0 → token_ids<br/>INT32 [≤64, -1]"| s1' in text
    assert 's2 -->|"SENT_EMBED"| t' in text


def test_mermaid_escapes_characters_with_a_meaning() -> None:
    """Otherwise a tensor with an odd name breaks the drawing."""
    config = ensemble(step("scale", {"X": 'a\\"b|<c>'}, {"Y": "Y"}))
    text = mermaid(graph_of("odd", parse_config(config, ""), {}))
    assert "a#34;b#124;#60;c#62;" in text


def test_a_picture_holds_all_names(bert: Graph) -> None:
    """Otherwise a name is missing in the picture."""
    root = ElementTree.fromstring(picture(bert, "svg"))
    words = {text.strip() for text in root.itertext() if text.strip()}
    assert words >= {"bert_trt", "preprocess", "bert-trt", "token_ids", "FP32 [≤64, -1, 384]", "TOKEN_EMBEDS_POST"}
    assert picture(bert, "svg") == picture(bert, "svg")  # no dates, no random ids
    with Image.open(io.BytesIO(picture(bert, "png"))) as image:
        assert image.width > image.height > 100
        assert len(set(image.convert("L").histogram())) > 10  # something is drawn


def test_arrows_over_several_ranks_have_waypoints(bert: Graph) -> None:
    """Otherwise an arrow crosses a box that it does not belong to."""
    plan = layout(bert)
    rank = ranks(bert)
    for edge, route in zip(bert.edges, plan.routes, strict=True):
        ends = (edge.tensor, edge.step) if edge.kind == "read" else (edge.step, edge.tensor)
        assert len(route) == rank[ends[1]] - rank[ends[0]] + 1
    heights = plan.heights()
    for column in plan.columns:
        assert len({heights[node] for node in column}) == len(column)


def test_steps_that_wait_for_each_other_are_refused() -> None:
    """Otherwise a cycle hangs the drawing."""
    config = ensemble(step("a", {"X": "T"}, {"Y": "U"}), step("b", {"X": "U"}, {"Y": "T"}))
    with pytest.raises(EnsembleError, match="wait for each other"):
        graph_of("circle", parse_config(config, ""), {})


def test_unknown_models_are_drawn_as_unknown() -> None:
    """Otherwise an incomplete repository cannot be drawn."""
    config = ensemble(step("a", {"X": "X"}, {"Y": "T"}), step("b", {"X": "T"}, {"Y": "Y"}))
    found = graph_of("half", parse_config(config, ""), {})
    assert found.tensor("T").shape == "unknown"
    assert b"unknown model" in picture(found, "svg")


def test_any_repository_can_be_drawn(tmp_path: Path) -> None:
    """Otherwise only the project's own ensembles can be drawn."""
    stage(Example(ensemble(step("scale", {"X": "X"}, {"Y": "Y"}))), tmp_path / "models", "pipeline")
    out = tmp_path / "drawing.svg"
    result = CliRunner().invoke(graph_command, [str(tmp_path / "models"), "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert out.read_bytes().startswith(b"<?xml")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    result = CliRunner().invoke(graph_command, [str(tmp_path / "models"), "-o", str(tmp_path / "drawing.pdf")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "drawing.pdf").read_bytes().startswith(b"%PDF")
    printed = CliRunner().invoke(graph_command, [str(tmp_path / "models"), "--format", "png"])
    assert printed.stdout_bytes.startswith(b"\x89PNG")


def test_an_unknown_name_lists_the_known_ones() -> None:
    """Otherwise users have to look up the names of their ensembles."""
    with pytest.raises(EnsembleError, match="bert_trt"):
        read_graph("bert", ENSEMBLES)


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    """Otherwise `graph -o x.jpg` writes mermaid into a file that no viewer opens."""
    result = CliRunner().invoke(graph_command, ["bert_trt", "-o", str(tmp_path / "x.jpg")])
    assert result.exit_code == 2
    assert "has none of the suffixes .mmd, .svg, .png, .pdf" in result.output
    assert list(tmp_path.iterdir()) == []
