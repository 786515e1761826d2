"""Files of PyTorch and TensorFlow; the real server, which runs them on these, is the judge of what the rules say."""

import shutil
from pathlib import Path

import pytest

from tests.checking.packing import faults
from tests.checking.pieces import torchscript
from tests.checking.served import ModelLoader
from tests.files import write_files
from tests.runtime.backends.networks import save_model
from triton_ensembles.checking.examples import io_tensor, python_model
from triton_ensembles.checking.fault import Severity

pytestmark = pytest.mark.slow

X, WORDS = io_tensor("x"), io_tensor("words", "STRING", "-1")
Y, Z = io_tensor("Y__0"), io_tensor("Z__1", "STRING", "-1")
PAIR = "x, words: List[str]): return x, words"
# Name of the model: its forward(), its inputs and its outputs.
TORCHSCRIPT = {
    "pair": (PAIR, f"{X}, {WORDS}", f"{Y}, {Z}"),
    "pair-of-numbers": (PAIR, f"{X}, {io_tensor('words')}", f"{Y}, {io_tensor('Z__1')}"),
    "listed": ("x): return [x]", X, Y),
    "counted": ("x, count: int): return x, count", f"{X}, {io_tensor('count', 'INT64', '1')}", Y),
    "optional": ("x, y: Optional[Tensor]=None): return x", f"{X}, {io_tensor('y')}", Y),
    "dictionary": ("x: Dict[str, Tensor]): return x['a']", io_tensor("a"), Y),
    "encoder": ("x): return x", X, Y),
}
METHODS = {"encoder": "encode"}
# Its input, and a file that is missing.
SAVED = {
    "right": ("X", "2", ""),
    "of-the-function": ("given", "2", ""),
    "of-five": ("X", "5", ""),
    "without-data": ("X", "2", "variables/variables.data-00000-of-00001"),
    "without-folder": ("X", "2", "variables"),
}


def wrong(models: Path) -> set[str]:
    """The models with an error in what their files are, which the server does not load either."""
    found = [fault for fault in faults(models) if fault.severity is Severity.ERROR]
    found = [fault for fault in found if fault.rule.startswith(("torchscript", "pytorch", "model-file", "saved-model"))]
    names = {Path(fault.place.path).relative_to(models).parts[0] for fault in found}
    with ModelLoader(models, models.parent) as server:  # no verdict on file: torch writes its place into its files
        assert names == {path.name for path in models.iterdir() if not server.load_surely(path.name).loaded}, found
    return names


def test_the_server_agrees_on_types_of_torchscript(tmp_path: Path) -> None:
    """Otherwise a model that answers no request is deployed, or one that works is refused."""
    for name, (code, inputs, outputs) in TORCHSCRIPT.items():
        config = python_model(inputs=inputs, outputs=outputs, size=0, backend='platform: "pytorch_libtorch"')
        files = {"config.pbtxt": config, "1/model.pt": torchscript(f"def {METHODS.get(name, 'forward')}(self, {code}")}
        write_files(tmp_path / "models" / name, files)
    assert wrong(tmp_path / "models") == TORCHSCRIPT.keys() - {"pair", "dictionary"}


def test_the_server_agrees_on_saved_models(tmp_path: Path) -> None:
    """Otherwise a SavedModel whose signature is another, or whose variables are missing, is deployed."""
    saved = save_model(tmp_path / "saved")
    for name, (tensor, dims, missing) in SAVED.items():
        inputs, platform = io_tensor(tensor, dims=dims), 'platform: "tensorflow_savedmodel"'
        model = tmp_path / "models" / name
        write_files(
            model, {"config.pbtxt": python_model(inputs=inputs, outputs=io_tensor("Y", dims="2"), backend=platform)}
        )
        file = shutil.copytree(saved, model / "1" / "model.savedmodel") / missing
        if missing:
            shutil.rmtree(file) if file.is_dir() else file.unlink()
    assert wrong(tmp_path / "models") == SAVED.keys() - {"right"}
