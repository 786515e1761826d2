"""What forward() of a TorchScript file takes and returns; the real server, which runs it on torch, is the judge."""

from pathlib import Path

import pytest

from tests.checking.packing import faults
from tests.checking.pieces import torchscript
from tests.checking.served import ModelLoader
from tests.files import write_files
from triton_ensembles.checking.examples import io_tensor, python_model
from triton_ensembles.checking.fault import Severity

pytestmark = pytest.mark.slow

X, WORDS = io_tensor("x"), io_tensor("words", "STRING", "-1")
Y, Z = io_tensor("Y__0"), io_tensor("Z__1", "STRING", "-1")
PAIR = "x, words: List[str]): return x, words"
MODELS = {
    "pair": (PAIR, f"{X}, {WORDS}", f"{Y}, {Z}", True),
    "pair-of-numbers": (PAIR, f"{X}, {io_tensor('words')}", f"{Y}, {io_tensor('Z__1')}", False),
    "listed": ("x): return [x]", X, Y, False),
    "counted": ("x, count: int): return x, count", f"{X}, {io_tensor('count', 'INT64', '1')}", Y, False),
    "optional": ("x, y: Optional[Tensor]=None): return x", f"{X}, {io_tensor('y')}", Y, False),
    "dictionary": ("x: Dict[str, Tensor]): return x['a']", io_tensor("a"), Y, True),
    "encoder": ("x): return x", X, Y, False),
}
METHODS = {"encoder": "encode"}


def test_the_server_agrees_on_types(tmp_path: Path) -> None:
    """Otherwise a model that answers no request is deployed, or one that works is refused."""
    models = tmp_path / "models"
    for name, (code, inputs, outputs, _) in MODELS.items():
        config = python_model(inputs=inputs, outputs=outputs, size=0, backend='platform: "pytorch_libtorch"')
        files = {"config.pbtxt": config, "1/model.pt": torchscript(f"def {METHODS.get(name, 'forward')}(self, {code}")}
        write_files(models / name, files)
    errors = [each for each in faults(models) if each.severity is Severity.ERROR]
    errors = [each for each in errors if each.rule.startswith(("torchscript", "pytorch", "model-file"))]
    found = {Path(each.place.path).relative_to(models).parts[0] for each in errors}
    assert found == {name for name, (*_, good) in MODELS.items() if not good}
    with ModelLoader(models, tmp_path) as server:
        results = {name: server.load_surely(name) for name in MODELS}  # torch writes its place into its files
    assert {name for name, result in results.items() if not result.loaded} == found
