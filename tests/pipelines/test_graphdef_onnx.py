"""A GraphDef as ONNX: the same tensors under the same names with the same values, or no file."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from checkout import ROOT
from pipelines import graphdef_onnx
from triton_ensembles.artifacts import Job
from triton_ensembles.artifacts.accuracy_on_photographs import encoded_views
from triton_ensembles.building.made.artifact_maker import MakerCall
from triton_ensembles.ground.errors import EnsembleError

pytestmark = pytest.mark.slow

INCEPTION = ("input", "InceptionV3/Predictions/Softmax")
SMALL = ("input", "classes/Softmax")
_GENERATOR = np.random.default_rng(1)
KERNEL, MATRIX = (_GENERATOR.normal(size=size).astype(np.float32) for size in ((3, 3, 3, 4), (4 * 4 * 4, 5)))


def small_graph(path: Path) -> Path:
    """A very small image classifier; like that of InceptionV3, its placeholder has a batch of 1."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        image = tf.compat.v1.placeholder(tf.float32, (1, 8, 8, 3), name=SMALL[0])
        features = tf.nn.relu(tf.nn.conv2d(image, KERNEL, 2, "SAME"))
        flat = tf.reshape(features, (-1, 4 * 4 * 4))
        logits = flat @ MATRIX
        tf.nn.softmax(logits, name=SMALL[1])
        tf.identity(logits, name="logits")
        path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


def make(source: Path, output: Path, names: tuple[str, str]) -> dict[str, str | int | float]:
    options: dict[str, str | int] = {"input": names[0], "output": names[1]}
    return graphdef_onnx.make(Job(output, {source.name: source}, source.name, options, "cpu", ""))


def make_in_a_process(source: Path, output: Path, names: tuple[str, str]) -> dict[str, Any]:
    """As the build does. The conversion of InceptionV3 takes 2.4 GB, which the process of the tests would keep."""
    call = MakerCall("script", {"run": "pipelines/graphdef_onnx.py", "input": names[0], "output": names[1]})
    return call.run(Job(output, {source.name: source}, source.name, call.options, root=ROOT), "model", print)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The small graph and its ONNX file."""
    folder = tmp_path_factory.mktemp("small")
    source, model = small_graph(folder / "model.graphdef"), folder / "model.onnx"
    make_in_a_process(source, model, SMALL)
    return source, model


def test_inception_keeps_its_names_shapes_and_values(inception_graph: Path, tmp_path: Path) -> None:
    """Otherwise the ensemble would not load in an image without TensorFlow, or would give other answers there."""
    path = tmp_path / "model.onnx"
    facts = make_in_a_process(inception_graph, path, INCEPTION)
    difference = facts.pop("max_abs_difference_to_tensorflow")
    assert isinstance(difference, float) and 0 < difference <= graphdef_onnx.TOLERANCE
    assert facts == {"compared_images": 10, "opset": 17}

    model = onnx.load(path)
    assert [(each.domain, each.version) for each in model.opset_import if not each.domain] == [("", 17)]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (given,), (answer,) = session.get_inputs(), session.get_outputs()
    assert (given.name, given.shape, given.type) == (INCEPTION[0], ["batch", 299, 299, 3], "tensor(float)")
    assert (answer.name, answer.shape, answer.type) == (INCEPTION[1], ["batch", 1001], "tensor(float)")

    from pipelines.dali_pipe import preprocess

    images = np.stack([preprocess(view) for view in encoded_views()[:3]])
    (together,) = session.run(None, {INCEPTION[0]: images})
    (alone,) = session.run(None, {INCEPTION[0]: images[1:2]})
    np.testing.assert_allclose(together.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(together[1:2], alone, atol=1e-6)


@pytest.mark.parametrize("factor", [1.1, np.nan])
def test_a_wrong_layer_fails(small: tuple[Path, Path], tmp_path: Path, factor: float) -> None:
    """Otherwise a conversion that spoils one would be served, or one that gives no numbers."""
    content = small[0].read_bytes()
    assert content.count(KERNEL.tobytes()) == 1
    wrong = content.replace(KERNEL.tobytes(), (KERNEL * np.float32(factor)).tobytes())
    (tmp_path / "other.graphdef").write_bytes(wrong)
    with pytest.raises(EnsembleError, match=r"the ONNX differs from TensorFlow by .*, more than 0\.0001"):
        graphdef_onnx.compare(small[1], tmp_path / "other.graphdef", *SMALL)


def test_same_bytes_from_another_process(small: tuple[Path, Path], tmp_path: Path) -> None:
    """Otherwise every build would make another archive from the same sources."""
    make_in_a_process(small[0], tmp_path / "again.onnx", SMALL)
    assert (tmp_path / "again.onnx").read_bytes() == small[1].read_bytes()


@pytest.mark.parametrize(
    ("names", "message", "cure"),
    [
        (("pixels", SMALL[1]), 'no placeholder is named "pixels"', "set input to one of: input"),
        (("input", "Softmax"), 'no node is named "Softmax"', "set output to one of: classes/Softmax, logits"),
    ],
)
def test_unknown_tensors_are_refused_with_a_reason(
    small: tuple[Path, Path], tmp_path: Path, names: tuple[str, str], message: str, cure: str
) -> None:
    """Otherwise a slip in the recipe would end in a stack trace of the converter."""
    with pytest.raises(EnsembleError) as caught:
        make(small[0], tmp_path / "model.onnx", names)
    assert (caught.value.message, caught.value.cure) == (message, cure)
    assert not (tmp_path / "model.onnx").exists()


def test_a_file_that_is_not_a_graph_of_images_is_refused_with_a_reason(tmp_path: Path) -> None:
    """Otherwise a damaged download, or a graph without shapes, would end in a stack trace of the converter."""
    import tensorflow as tf

    (tmp_path / "broken.graphdef").write_bytes(b"\xff\xfe not a graph")
    with pytest.raises(EnsembleError, match="this is not a frozen GraphDef"):
        make(tmp_path / "broken.graphdef", tmp_path / "model.onnx", SMALL)
    shapeless = small_graph(tmp_path / "shapeless.graphdef")
    definition = tf.compat.v1.GraphDef.FromString(shapeless.read_bytes())
    (image,) = (node for node in definition.node if node.name == SMALL[0])
    del image.attr["shape"]
    shapeless.write_bytes(definition.SerializeToString())
    with pytest.raises(EnsembleError, match=r"must have the shape \[batch, rows, columns, channels\]"):
        make(shapeless, tmp_path / "model.onnx", SMALL)
