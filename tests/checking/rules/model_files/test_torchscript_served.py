"""What forward() of a TorchScript file takes and returns; the real server, which runs it on torch, is the judge."""

from __future__ import annotations

from pathlib import Path

import torch

from tests.checking.packing import faults
from tests.checking.served import ModelLoader
from triton_ensembles.checking.examples import io_tensor, python_model
from triton_ensembles.checking.fault import Severity

ABOUT = ("torchscript", "pytorch")


class Pair(torch.nn.Module):
    def forward(self, x: torch.Tensor, words: list[str]) -> tuple[torch.Tensor, list[str]]:
        return x, words


class Counted(torch.nn.Module):
    def forward(self, x: torch.Tensor, count: int) -> tuple[torch.Tensor, int]:
        return x, count


class Optional(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor | None = None) -> torch.Tensor:
        return x


class Listed(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [x]


class Dictionary(torch.nn.Module):
    def forward(self, x: dict[str, torch.Tensor]) -> torch.Tensor:
        return x["a"]


X, WORDS = io_tensor("x"), io_tensor("words", "STRING", "-1")
Y, Z = io_tensor("Y__0"), io_tensor("Z__1", "STRING", "-1")
MODELS = {
    "pair": (Pair(), f"{X}, {WORDS}", f"{Y}, {Z}", True),
    "pair-of-numbers": (Pair(), f"{X}, {io_tensor('words')}", f"{Y}, {io_tensor('Z__1')}", False),
    "listed": (Listed(), X, Y, False),
    "counted": (Counted(), f"{X}, {io_tensor('count', 'INT64', '1')}", Y, False),
    "optional": (Optional(), f"{X}, {io_tensor('y')}", Y, False),
    "dictionary": (Dictionary(), io_tensor("a"), Y, True),
}


def test_the_server_agrees_on_types(tmp_path: Path) -> None:
    """Otherwise a model that answers no request is deployed, or one that works is refused."""
    models = tmp_path / "models"
    for name, (module, inputs, outputs, _) in MODELS.items():
        (models / name / "1").mkdir(parents=True)
        torch.jit.script(module).save(str(models / name / "1/model.pt"))
        config = python_model(inputs=inputs, outputs=outputs, size=0, backend='platform: "pytorch_libtorch"')
        (models / name / "config.pbtxt").write_text(config)
    errors = [each for each in faults(models) if each.severity is Severity.ERROR and each.rule.startswith(ABOUT)]
    found = {Path(each.place.path).relative_to(models).parts[0] for each in errors}
    assert found == {name for name, (*_, good) in MODELS.items() if not good}
    with ModelLoader(models, tmp_path) as server:
        results = {name: server.load_surely(name) for name in MODELS}  # torch writes its place into its files
    assert {name for name, result in results.items() if not result.loaded} == found
