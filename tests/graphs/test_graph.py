"""The DAG of an ensemble as values, mermaid and picture."""

import io
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from PIL import Image

from checkout import ENSEMBLES
from tests.repositories import write_chain, write_ensemble
from triton_ensembles.checking.examples import ensemble, step
from triton_ensembles.checking.python.examples import router
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.commands.graph import graph as graph_command
from triton_ensembles.graphs.dag import Graph, Tensor, graph_of
from triton_ensembles.graphs.mermaid import mermaid
from triton_ensembles.graphs.picture import picture, place
from triton_ensembles.graphs.read import read_graph
from triton_ensembles.ground.errors import EnsembleError, UsageError
from triton_ensembles.triton.model_config import parse_config


@pytest.fixture(scope="module")
def bert() -> Graph:
    return read_graph(ENSEMBLES / "bert_trt")


def test_the_tensors_have_types_and_shapes(bert: Graph) -> None:
    """Otherwise the drawing does not match the configs."""
    assert bert.tensors["INPUT0"] == Tensor("INPUT0", "STRING", (1,), 64, "input")
    assert bert.tensors["token_ids"].shape == "INT32 [≤64, -1]"
    assert bert.tensors["finaloutput"].role == "output"
    assert [step.model for step in bert.steps] == ["preprocess", "bert-trt", "postprocess"]
    mask = [(edge.step, edge.writes) for edge in bert.edges if edge.tensor == "attn_mask"]
    assert mask == [(0, True), (1, False), (2, False)]


def test_mermaid_names_every_step_and_edge(bert: Graph) -> None:
    """Otherwise a README shows a DAG with something missing."""
    text = mermaid(bert)
    assert text.startswith('flowchart LR\n  subgraph dag["bert_trt"]\n')
    assert 's0["preprocess<br/>python"]' in text
    assert 's0 -->|"OUTPUT0 → token_ids<br/>INT32 [≤64, -1]"| s1' in text
    assert 's2 -->|"SENT_EMBED"| t' in text


def test_a_picture_holds_all_names(bert: Graph) -> None:
    """Otherwise a name is missing in the picture."""
    root = ElementTree.fromstring(picture(bert, "svg"))
    words = {text.strip() for text in root.itertext() if text.strip()}
    assert words >= {"bert_trt", "preprocess", "bert-trt", "token_ids", "FP32 [≤64, -1, 384]", "TOKEN_EMBEDS_POST"}
    assert picture(bert, "svg") == picture(bert, "svg")  # no dates, no random ids
    with Image.open(io.BytesIO(picture(bert, "png"))) as image:
        assert image.width > image.height > 100
        assert len(set(image.convert("L").histogram())) > 10  # something is drawn


def test_boxes_lie_apart_and_arrows_go_around_them(bert: Graph) -> None:
    """Otherwise an arrow crosses a box that it does not belong to."""
    boxes, arrows = place(bert)
    for box, other in combinations(boxes, 2):
        beside = abs(box.x - other.x) > (box.width + other.width) / 2
        assert beside or abs(box.y - other.y) > (box.height + other.height) / 2
    long = arrows[[edge.other_name for edge in bert.edges].index("ATTENTION_POST")]
    assert len(long) == 4  # with a bend beside bert-trt, and one beside token_embeds
    for x, y in long[1:-1]:
        assert not any(abs(box.x - x) <= box.width / 2 and abs(box.y - y) <= box.height / 2 for box in boxes)


def test_steps_that_wait_for_each_other_are_refused() -> None:
    """Otherwise a cycle hangs the drawing."""
    config = ensemble(step("a", {"X": "T"}, {"Y": "U"}), step("b", {"X": "U"}, {"Y": "T"}))
    with pytest.raises(EnsembleError, match="wait for each other"):
        graph_of("circle", parse_config(config, ""), {})


def test_unknown_models_are_drawn_as_unknown() -> None:
    """Otherwise an incomplete repository cannot be drawn."""
    drawn = graph_of("half", parse_config(_chain(2), ""), {})
    assert drawn.tensors["t1"].shape == "unknown"
    assert b"unknown model" in picture(drawn, "svg")


def test_any_repository_can_be_drawn(tmp_path: Path) -> None:
    """Otherwise only the project's own ensembles can be drawn."""
    stage(Example(ensemble(step("scale", {"X": "X"}, {"Y": "Y"}))), tmp_path / "models", "pipeline")
    for suffix, head in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        out = tmp_path / f"drawing.{suffix}"
        result = CliRunner().invoke(graph_command, [str(tmp_path / "models"), "-o", str(out)])
        assert result.exit_code == 0, result.output
        assert out.read_bytes().startswith(head)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_models_that_a_step_calls_hang_on_dashed_arrows(tmp_path: Path) -> None:
    """Otherwise a router is drawn as if it were alone."""
    stage(router(), tmp_path, "router")
    drawn = read_graph(tmp_path)
    assert [[drawn.steps[place].model for place in call] for call in drawn.calls] == [["router", "scaler"]]
    assert "  s0 -.->|calls| s1\n" in mermaid(drawn)
    assert picture(drawn, "svg").count(b">calls<") == 1


def test_an_ensemble_that_is_a_step_is_drawn_with_its_own(tmp_path: Path) -> None:
    """Otherwise half of the models are nowhere in the picture."""
    write_ensemble(write_chain(tmp_path), "outer", ["six"])
    drawn = read_graph(tmp_path)
    assert drawn.name == "outer"
    assert [drawn.steps[callee].model for _, callee in drawn.calls] == ["double", "triple"]
    assert "  s0 -.->|runs| s1\n" in mermaid(drawn)


def test_optional_inputs_decoupled_steps_and_models_beside_the_dag_are_marked(tmp_path: Path) -> None:
    """Otherwise the drawing looks as if every input were needed, and the repository had nothing else."""
    models = write_chain(tmp_path / "models")
    write_ensemble(models, "twice", ("double", "double"))
    for name, before, after in (
        ("twice", "dims: [ 2 ] }", "dims: [ 2 ] optional: true }"),
        ("double", "max_batch_size: 8", "max_batch_size: 8 model_transaction_policy { decoupled: true }"),
    ):
        config = models / name / "config.pbtxt"
        config.write_text(config.read_text().replace(before, after, 1))
    drawn = read_graph(models, "twice")
    assert drawn.outside == ("six", "triple")
    text = mermaid(drawn)
    assert '(["X<br/>FP32 [≤8, 2], optional"])' in text and text.count("optional") == 1
    assert '["double<br/>python, decoupled"]' in text
    assert '["not in this DAG: six and triple"]' in text
    words = {text.strip() for text in ElementTree.fromstring(picture(drawn, "svg")).itertext()}
    assert words >= {"twice", "FP32 [≤8, 2], optional", "python, decoupled", "not in this DAG: six and triple"}


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    """Otherwise `graph -o x.jpg` writes mermaid into a file that no viewer opens."""
    result = CliRunner().invoke(graph_command, ["bert_trt", "-o", str(tmp_path / "x.jpg")])
    assert result.exit_code == 2
    assert "has none of the suffixes .mmd, .svg, .png, .pdf" in result.output
    assert list(tmp_path.iterdir()) == []


def _chain(count: int) -> str:
    return ensemble(*(step("scale", {"X": f"t{number}"}, {"Y": f"t{number + 1}"}) for number in range(count)))


_FAN = ensemble(*(step("scale", {"X": "X"}, {"Y": f"t{number}"}) for number in range(2000)))
_SKIPPING = ensemble(*(step("a", {"X": f"t{n}", "Z": "X"}, {"Y": f"t{n + 1}"}) for n in range(100)))


@pytest.mark.parametrize(
    ("config", "format", "words"),
    [
        *((config, "svg", "for a picture") for config in (_chain(2000), _FAN, _SKIPPING)),
        (_chain(200), "png", "for a PNG; draw it as SVG"),
    ],
    ids=["chain", "fan", "skipping", "png"],
)
def test_what_is_too_large_for_a_picture_is_refused_in_a_line(config: str, format: str, words: str) -> None:
    """Otherwise a hostile config keeps matplotlib busy for minutes, with gigabytes, or ends in its traceback."""
    large = graph_of("large", parse_config(config, ""), {})
    with pytest.raises(EnsembleError, match=f"too large {words}"):
        picture(large, format)
    assert mermaid(large).count("-->") >= 199


@pytest.mark.parametrize("format", ["svg", "pdf", "png", "mermaid"])
def test_names_are_drawn_escaped(format: str) -> None:
    """Otherwise a name is taken for a formula or a part of the drawing, hides text, or ends in a traceback."""
    names = ["$x$ $\\alpha$", "a\x1b[31m\nb", "\u202eevil\u200b\ufeff", "<b>&amp;|`c`](x)%", "日本語", "n" * 400_000]
    steps = (step("m", {"X": f"t{number}"}, {"Y": f"t{number + 1}"}) for number in range(len(names)))
    config = parse_config(ensemble(*steps), "")
    for scheduled, name in zip(config.ensemble_scheduling.step, names, strict=True):
        scheduled.model_name = name
    dag = graph_of("\udcff\x1b", config, {})
    drawn = mermaid(dag).encode() if format == "mermaid" else picture(dag, format)
    assert len(drawn) < 1_000_000
    if format == "mermaid":
        assert b"#60;b#62;#38;amp#59;#124;#96;c#96;" in drawn
    if format in ("svg", "mermaid"):
        text = drawn.decode()
        assert not set("\x1b\u202e\u200b\ufeff") & set(text)
        assert ("a\\x1b[31m\\nb" if format == "svg" else "a#92;x1b[31m#92;nb") in text
    if format == "svg":
        words = {text.strip() for text in ElementTree.fromstring(text).itertext()}
        assert words >= {names[0], names[3], names[4], "\\xff\\x1b", "\\u202eevil\\u200b\\ufeff"}


def test_one_of_several_ensembles_is_drawn_under_its_name_with_what_its_steps_are(tmp_path: Path) -> None:
    models = write_chain(tmp_path / "models")
    write_ensemble(models, "twice", ("double", "double"))
    with pytest.raises(UsageError, match="there are 2 ensembles here: six and twice; choose one: --model six"):
        read_graph(models)
    for drawn in (read_graph(models, "twice"), read_graph(models / "twice")):
        assert drawn.name == "twice" and [step.model for step in drawn.steps] == ["double", "double"]
        assert b"unknown model" not in picture(drawn, "svg")
    with pytest.raises(UsageError, match="no ensemble here called 'tvice'"):
        read_graph(models, "tvice")
