"""The signature and the variables of a SavedModel; the real server, which runs it on TensorFlow, is the judge."""

import shutil
from pathlib import Path

import pytest

from tests.checking.packing import faults
from tests.checking.served import ModelLoader
from tests.files import write_files
from triton_ensembles.checking.examples import io_tensor, python_model
from triton_ensembles.checking.fault import Severity

pytestmark = pytest.mark.slow

X, Y = io_tensor("x"), io_tensor("y")
# Name of the model: its input and output, and a file that is missing.
MODELS = {
    "right": (X, Y, ""),
    "of-the-function": (io_tensor("X"), Y, ""),
    "of-five": (io_tensor("x", dims="5"), Y, ""),
    "without-data": (X, Y, "variables/variables.data-00000-of-00001"),
    "without-folder": (X, Y, "variables"),
}


def test_the_server_agrees_on_saved_models(tmp_path: Path) -> None:
    """Otherwise a SavedModel whose signature is another, or whose variables are missing, is deployed."""
    import tensorflow as tf

    class Scaling(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            self.factors = tf.Variable(tf.ones([4]))

        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])  # type: ignore[untyped-decorator]
        def __call__(self, x: object) -> object:
            return {"y": x * self.factors}

    module, saved = Scaling(), tmp_path / "saved"
    tf.saved_model.save(module, str(saved), signatures=module.__call__)
    models = tmp_path / "models"
    for name, (inputs, outputs, missing) in MODELS.items():
        config = python_model(inputs=inputs, outputs=outputs, backend='platform: "tensorflow_savedmodel"')
        write_files(models / name, {"config.pbtxt": config})
        file = shutil.copytree(saved, models / name / "1" / "model.savedmodel") / missing
        if missing:
            shutil.rmtree(file) if file.is_dir() else file.unlink()
    wrong = [fault for fault in faults(models) if fault.severity is Severity.ERROR]
    found = {Path(fault.place.path).relative_to(models).parts[0] for fault in wrong}
    assert {fault.rule for fault in wrong} == {"saved-model-tensors", "saved-model-variables"}
    with ModelLoader(models, tmp_path) as server:
        results = {name: server.load_surely(name) for name in MODELS}
    assert {name for name, result in results.items() if not result.loaded} == found
