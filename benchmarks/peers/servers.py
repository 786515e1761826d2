"""The command line of each peer, and what it is."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.venv import installed

HERE = Path(__file__).parent
NAME = "minilm"


@dataclass(frozen=True)
class Peer:
    """One peer. ``command(venv, port)`` is its command line; it runs in the model's folder."""

    name: str
    packages: tuple[str, ...]
    command: Callable[[Path, int], list[str]]

    def about(self, venv: Path) -> str:
        return ", ".join(f"{package} {installed(venv, package)}" for package in self.packages)


def _infinity(engine: str, *options: str) -> Callable[[Path, int], list[str]]:
    def command(venv: Path, port: int) -> list[str]:
        # The optimum engine finds the model.onnx of a local folder only if that is "." and the working folder.
        named = ["--model-id", ".", "--served-model-name", NAME, "--engine", engine, "--device", "cpu", *options]
        return [os.fspath(venv / "bin" / "infinity_emb"), "v2", *named, "--host", "127.0.0.1", "--port", str(port)]

    return command


def _fastapi(venv: Path, port: int) -> list[str]:
    application = ["--app-dir", os.fspath(HERE), "fastapi_app:app"]
    address = ["--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"]
    return [os.fspath(venv / "bin" / "uvicorn"), *application, *address]


PEERS = (
    # With "auto" this engine silently takes the vector of [CLS], which is wrong for the model.
    Peer("infinity, ONNX Runtime", ("infinity_emb", "onnxruntime"), _infinity("optimum", "--pooling-method", "mean")),
    Peer("infinity, torch", ("infinity_emb", "torch"), _infinity("torch")),
    Peer("FastAPI, sentence-transformers", ("fastapi", "sentence_transformers", "torch"), _fastapi),
)
